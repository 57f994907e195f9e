// Names of devices: parsing, identity by options and address, random text.
#include <random>

#include "device_fixture.h"
#include "pyburn/decorators/remote/client.h"
#include "pyburn/runtime/device_identity.h"
#include "pyburn/runtime/device_name.h"

namespace pyburn::testing {
namespace {

TEST(DeviceNames, ServersAtTwoAddressesAreTwoDevicesEvenIfTheyReportOneName) {
  cpu();
  register_backend({.name = "reached", .decorator = true, .make = [](auto, std::string_view) {
                      return Ref<Backend>(new remote::Client(remote::in_process_channel(Ref<Backend>(&cpu::cpu_backend()))));
                    }});
  Device &a = device("reached(ws://a:1)"), &b = device("reached(ws://b:1)");
  EXPECT_NE(&a, &b);
  EXPECT_EQ(&a, &device("Autodiff(REACHED( ws://a:1 ))"));
  EXPECT_NE(&a, &device("reached(ws://A:1)"));
  EXPECT_EQ(a.name(), "autodiff(reached(ws://a:1))");
  EXPECT_EQ(&device(typed_name_of(b)), &b);
}

TEST(DeviceNames, RandomTextParsesAndReadsBackOrRaises) {
  const std::string_view pieces[] = {"cpu", "Fusion", "(", ")", ",", ":", "\"", "\\", "://", " ", "\xff", "\xc3\xa9", "\n", "a"};
  std::mt19937 random(5);
  int parsed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (uint32_t n = random() % 10; n > 0; --n) text += pieces[random() % std::size(pieces)];
    try {
      const std::string once = to_text(parse_device_name(text));
      EXPECT_EQ(to_text(parse_device_name(once)), once) << text;
      ++parsed;
    } catch (const DeviceError&) {
    }
  }
  EXPECT_GT(parsed, 500);
}

}  // namespace
}  // namespace pyburn::testing

// The tests' main: the tables are filled once, before any test.
#include <gtest/gtest.h>

#include "pyburn/start.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  pyburn::start();
  return RUN_ALL_TESTS();
}

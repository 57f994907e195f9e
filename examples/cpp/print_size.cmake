file(SIZE ${PROGRAM} bytes)
math(EXPR tenths "${bytes} * 10 / 1048576")
string(REGEX REPLACE "(.)$" ".\\1" size "${tenths}")
message(STATUS "${PROGRAM}: ${size} MiB")

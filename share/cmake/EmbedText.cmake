# Writes OUTPUT, a C file that defines VARIABLE as the bytes of INPUT.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUTPUT} "extern const char ${VARIABLE}[];\nconst char ${VARIABLE}[] = {${bytes}0};\n")

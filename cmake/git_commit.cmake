# Writes OUTPUT with the commit of SOURCE, where it differs from what is there. No locks: people commit during builds.
execute_process(COMMAND git --no-optional-locks describe --always --dirty --abbrev=12 --exclude=*
                WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT commit)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "namespace nereus {
extern const char* const kGitCommit;
const char* const kGitCommit = \"${commit}\";
}  // namespace nereus
" @ONLY)

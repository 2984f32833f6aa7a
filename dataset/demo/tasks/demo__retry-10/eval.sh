#!/bin/bash
set -uxo pipefail
cd /testbed
git config --global --add safe.directory /testbed
git status
git show --stat
git -c core.fileMode=false diff 776f7be79a6a3583e81e36da4fc65b8feb7fb25e
git checkout 776f7be79a6a3583e81e36da4fc65b8feb7fb25e tests/run.sh
git apply -v - <<'EOF_114329324912'
diff --git a/tests/run.sh b/tests/run.sh
index f3ec3ba..0d3b9ad 100644
--- a/tests/run.sh
+++ b/tests/run.sh
@@ -15,10 +15,14 @@ check() { # name, wanted, got
     fi
 }
 
-retry() { timeout 2 bash bin/retry -d 0.1 "$@" 2>/dev/null; }
+retry() { timeout 5 bash bin/retry -d 0.1 "$@" 2>/dev/null; }
 
 check "success ends at once" "hello" "$(retry echo hello)"
 check "success has code 0" 0 "$(retry true; echo $?)"
 check "an unknown option is refused" 2 "$(retry -x true; echo $?)"
+check "gives up after the last try" 1 "$(retry -n 3 false; echo $?)"
+check "keeps the code of the command" 7 "$(retry -n 2 bash -c 'exit 7'; echo $?)"
+check "tries as often as asked" "xxx" "$(retry -n 3 bash -c 'printf x; exit 1')"
+check "does not wait after the last try" 1 "$(retry -n 1 -d 30 false; echo $?)"
 echo "1..$count"
 exit $failed
EOF_114329324912
: '>>>>> Start Test Output'
bash tests/run.sh
: '>>>>> End Test Output'
git checkout 776f7be79a6a3583e81e36da4fc65b8feb7fb25e tests/run.sh

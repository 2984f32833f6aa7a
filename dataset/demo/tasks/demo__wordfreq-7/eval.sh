#!/bin/bash
set -uxo pipefail
cd /testbed
git config --global --add safe.directory /testbed
git status
git show --stat
git -c core.fileMode=false diff 80d2b870a7f17df91971f31fc07eff8c53d705e6
git checkout 80d2b870a7f17df91971f31fc07eff8c53d705e6 tests/run.sh
git apply -v - <<'EOF_114329324912'
diff --git a/tests/run.sh b/tests/run.sh
index 4d616fb..09f6ba2 100644
--- a/tests/run.sh
+++ b/tests/run.sh
@@ -17,9 +17,13 @@ check() { # name, wanted, got
 
 wordfreq() { bash bin/wordfreq "$@" | tr '\n' ' '; }
 
-check "counts words" "2 b 1 a " "$(echo 'a b b' | wordfreq)"
-check "case does not matter" "2 a " "$(echo 'a A' | wordfreq)"
-check "signs are no words" "1 a 1 b " "$(echo '-- a, b!' | wordfreq)"
-check "stop words are left out" "1 tree " "$(echo 'the tree' | wordfreq <(printf 'a\nthe\n'))"
+check "counts words" "2 b 1 a 2 words " "$(echo 'a b b' | wordfreq)"
+check "case does not matter" "2 a 1 words " "$(echo 'a A' | wordfreq)"
+check "signs are no words" "1 a 1 b 2 words " "$(echo '-- a, b!' | wordfreq)"
+check "stop words are left out" "1 tree 1 words " "$(echo 'the tree' | wordfreq <(printf 'a\nthe\n'))"
+check "a last stop word without newline counts" "1 tree" "$(echo 'the tree' | bash bin/wordfreq <(printf 'a\nthe') | head -n 1)"
+check "the stop words we ship all count" "1 tree" "$(echo 'the tree' | bash bin/wordfreq data/stopwords.txt | head -n 1)"
+check "the most frequent word comes first" "2 b" "$(echo 'a b b' | bash bin/wordfreq | head -n 1)"
+check "an empty list of stop words is fine" "1 a" "$(echo 'a' | bash bin/wordfreq /dev/null | head -n 1)"
 echo "1..$count"
 exit $failed
EOF_114329324912
: '>>>>> Start Test Output'
bash tests/run.sh
: '>>>>> End Test Output'
git checkout 80d2b870a7f17df91971f31fc07eff8c53d705e6 tests/run.sh

#!/bin/bash
set -uxo pipefail
cd /testbed
git config --global --add safe.directory /testbed
git status
git show --stat
git -c core.fileMode=false diff f0b8d608c0963d35317e7d57b8c6f7c6f805044a
git checkout f0b8d608c0963d35317e7d57b8c6f7c6f805044a tests/run.sh
git apply -v - <<'EOF_114329324912'
diff --git a/tests/run.sh b/tests/run.sh
index b7cd8b0..cedb445 100644
--- a/tests/run.sh
+++ b/tests/run.sh
@@ -19,4 +19,8 @@ check "sums a column" 6 "$(printf 'name,n\na,1\nb,2\nc,3\n' | csvsum n)"
 check "sums fractions" 1.5 "$(printf 'n\n1\n0.5\n' | csvsum n)"
 check "an empty table sums to nothing" 0 "$(printf 'n\n' | csvsum n)"
 check "an unknown column is an error" "csvsum: no column m" "$(printf 'n\n1\n' | csvsum m)"
+check "commas in quotes belong to the field" 15 "$(printf 'name,n\n"M, J",10\nS,5\n' | csvsum n)"
+check "quotes are not part of a number" 12 "$(printf 'n\n"10"\n2\n' | csvsum n)"
+check "headings may be quoted" 3 "$(printf '"a, b",n\nx,1\ny,2\n' | csvsum n)"
+check "a doubled quote is one quote" 4 "$(printf 'name,n\n"say ""a, b""",4\n' | csvsum n)"
 exit $failed
EOF_114329324912
: '>>>>> Start Test Output'
bash tests/run.sh
: '>>>>> End Test Output'
git checkout f0b8d608c0963d35317e7d57b8c6f7c6f805044a tests/run.sh

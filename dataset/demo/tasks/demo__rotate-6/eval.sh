#!/bin/bash
set -uxo pipefail
cd /testbed
git config --global --add safe.directory /testbed
git status
git show --stat
git -c core.fileMode=false diff 8062d7d3842bdb6b608186d6cd4d3e62b8c0dab3
git checkout 8062d7d3842bdb6b608186d6cd4d3e62b8c0dab3 tests/run.sh
git apply -v - <<'EOF_114329324912'
diff --git a/tests/run.sh b/tests/run.sh
index 15fbd71..b937c05 100644
--- a/tests/run.sh
+++ b/tests/run.sh
@@ -19,4 +19,13 @@ check() { # name, wanted, got
 check names/zero "a.log" "$(numbered a.log 0)"
 check names/first "a.log.1" "$(numbered a.log 1)"
 check names/tenth "a.log.10" "$(numbered a.log 10)"
+
+for i in 1 2 3 4 5; do
+    echo "$i" >"$tmp/a.log"
+    bash bin/rotate "$tmp/a.log" 3
+done
+check rotate/keeps-as-many-as-asked "a.log.1 a.log.2 a.log.3" "$(cd "$tmp" && echo *)"
+check rotate/newest-is-first "5 4 3" "$(cd "$tmp" && cat a.log.* | tr '\n' ' ' | sed 's/ $//')"
+check rotate/can-be-run yes "$([ -x bin/rotate ] && bin/rotate "$tmp/none" 1 && echo yes)"
+check rotate/old-names-are-gone "bin/rotate" "$(echo bin/*)"
 exit $failed
EOF_114329324912
: '>>>>> Start Test Output'
bash tests/run.sh
: '>>>>> End Test Output'
git checkout 8062d7d3842bdb6b608186d6cd4d3e62b8c0dab3 tests/run.sh

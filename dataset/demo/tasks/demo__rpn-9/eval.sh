#!/bin/bash
set -uxo pipefail
cd /testbed
git config --global --add safe.directory /testbed
git status
git show --stat
git -c core.fileMode=false diff 43a326cd04f4cfb65ce5ea03b162e9e4114d506e
git checkout 43a326cd04f4cfb65ce5ea03b162e9e4114d506e tests/rpn.t
git apply -v - <<'EOF_114329324912'
diff --git a/tests/rpn.t b/tests/rpn.t
index a176e1c..954edf5 100644
--- a/tests/rpn.t
+++ b/tests/rpn.t
@@ -24,4 +24,8 @@ sub failure {
 is(Rpn::evaluate('1 2 +'), 3, 'addition');
 is(Rpn::evaluate('2 3 4 * +'), 14, 'nested multiplication');
 is(Rpn::evaluate('42'), 42, 'a number alone');
+is(Rpn::evaluate('7 2 -'), 5, 'subtraction');
+is(Rpn::evaluate('8 2 /'), 4, 'division');
+is(failure('1 +'), 'too few values', 'too few values');
+is(failure('1 2'), 'too many values', 'too many values');
 exit($failed ? 1 : 0);
EOF_114329324912
: '>>>>> Start Test Output'
perl tests/rpn.t
: '>>>>> End Test Output'
git checkout 43a326cd04f4cfb65ce5ea03b162e9e4114d506e tests/rpn.t

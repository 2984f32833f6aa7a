#!/bin/bash
set -uxo pipefail
cd /testbed
git config --global --add safe.directory /testbed
git status
git show --stat
git -c core.fileMode=false diff 5bb7144b40c6c1f13e3d62ca258bda929338e8b8
git checkout 5bb7144b40c6c1f13e3d62ca258bda929338e8b8 tests/test_roman.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_roman.py b/tests/test_roman.py
index d90bbcd..08378f9 100644
--- a/tests/test_roman.py
+++ b/tests/test_roman.py
@@ -24,3 +24,20 @@ def test_from_roman():
 def test_round_trip():
     for n in range(1, 4000):
         assert from_roman(to_roman(n)) == n, n
+
+
+def test_from_roman_refuses_four_in_a_row():
+    assert fails(from_roman, "IIII")
+
+
+def test_from_roman_refuses_wrong_pairs():
+    assert fails(from_roman, "IC")
+    assert fails(from_roman, "VX")
+
+
+def test_from_roman_refuses_nothing():
+    assert fails(from_roman, "")
+
+
+def test_from_roman_refuses_other_letters():
+    assert fails(from_roman, "ABC")
EOF_114329324912
: '>>>>> Start Test Output'
python3 tests/run.py
: '>>>>> End Test Output'
git checkout 5bb7144b40c6c1f13e3d62ca258bda929338e8b8 tests/test_roman.py

#!/bin/bash
set -uxo pipefail
cd /testbed
git config --global --add safe.directory /testbed
git status
git show --stat
git -c core.fileMode=false diff 47becd8ecce4bef33a2da900fbc5f833dabbf264
git checkout 47becd8ecce4bef33a2da900fbc5f833dabbf264 tests/test_slug.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_slug.py b/tests/test_slug.py
index 9116964..bfcf002 100644
--- a/tests/test_slug.py
+++ b/tests/test_slug.py
@@ -15,3 +15,19 @@ def test_outer_dashes_are_dropped():
 
 def test_no_limit_keeps_everything():
     assert len(slugify("x" * 300)) == 300
+
+
+def test_limit_never_leaves_a_dash_at_the_end():
+    assert slugify("The quick brown fox", max_length=10) == "the-quick"
+
+
+def test_limit_keeps_words_whole():
+    assert slugify("The quick brown fox", max_length=12) == "the-quick"
+
+
+def test_limit_at_a_word_end_keeps_the_word():
+    assert slugify("The quick brown fox", max_length=9) == "the-quick"
+
+
+def test_one_long_word_is_cut():
+    assert slugify("abcdefgh", max_length=4) == "abcd"
EOF_114329324912
: '>>>>> Start Test Output'
python3 tests/run.py
: '>>>>> End Test Output'
git checkout 47becd8ecce4bef33a2da900fbc5f833dabbf264 tests/test_slug.py

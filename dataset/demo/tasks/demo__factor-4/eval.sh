#!/bin/bash
set -uxo pipefail
cd /testbed
git config --global --add safe.directory /testbed
git status
git show --stat
git -c core.fileMode=false diff 2d89f0a0f9ca4f8244abb8efc192abfe08f15554
git checkout 2d89f0a0f9ca4f8244abb8efc192abfe08f15554 tests/test_factor.c
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_factor.c b/tests/test_factor.c
index f1d3656..3e7b802 100644
--- a/tests/test_factor.c
+++ b/tests/test_factor.c
@@ -26,5 +26,8 @@ int main(void)
     check("repeated factors", 360, "2 2 2 3 3 5");
     check("the largest prime of the old table", 997ULL * 997, "997 997");
     check("one large prime factor", 2ULL * 1000003, "2 1000003");
+    check("the square of 1009", 1018081, "1009 1009");
+    check("two primes of five digits", 65521ULL * 65537, "65521 65537");
+    check("the last prime of the table", 262139ULL * 262139, "262139 262139");
     return failed;
 }
EOF_114329324912
: '>>>>> Start Test Output'
tcc -Isrc src/factor.c -run tests/test_factor.c
: '>>>>> End Test Output'
git checkout 2d89f0a0f9ca4f8244abb8efc192abfe08f15554 tests/test_factor.c

package attempt

import (
	"testing"
)

func TestNoiseIsOnlyTimesAndAddresses(t *testing.T) {
	for was, now := range map[string]string{
		"Sat Nov 21 23:58:29 UTC 2026":                       "Sun Nov 22 00:01:02 UTC 2026",
		"-rw-r--r-- 1 root root 0 Nov 21 23:58 f":            "-rw-r--r-- 1 root root 0 Nov 22 00:01 f",
		"2026-11-21T23:58:29+00:00 started":                  "2026-11-22T00:01:02+00:00 started",
		"2026-11-21 23:58:29,123 INFO x":                     "2026-11-22 00:01:02,456 INFO x",
		"[23:58:29] x":                                       "[00:01:02] x",
		"=== 3 passed, 1 warning in 0.12s ===":               "=== 3 passed, 1 warning in 1.5s ===",
		"Ran 5 tests in 0.003s":                              "Ran 5 tests in 0.101s",
		"real\t0m0.004s\nuser\t0m0.001s":                     "real\t0m1.999s\nuser\t0m0.123s",
		"took 12 ms":                                         "took 3 ms",
		"<Foo object at 0x7f3a5c001234>":                     "<Foo object at 0x7e0000005678>",
		"Date:   Sat Nov 21 23:58:29 2026 +0000":             "Date:   Sun Nov 22 00:01:02 2026 +0000",
		"Sat, 21 Nov 2026 23:58:29 GMT":                      "Sun, 22 Nov 2026 00:01:02 GMT",
		"ok  \tbatch.example/x\t0.004s":                      "ok  \tbatch.example/x\t0.9s",
		"PASS tests/a.test.js (5.2 s)\nTime:        5.7 s, ": "PASS tests/a.test.js (4 s)\nTime:        4.1 s, ",
	} {
		if a, b := withoutNoise([]byte(was)), withoutNoise([]byte(now)); string(a) != string(b) {
			t.Errorf("%q and %q differ by more than noise: %q, %q", was, now, a, b)
		}
	}
	for was, now := range map[string]string{
		"[work 3f2a1b9] work":          "[work 77aa00c] work",
		"/tmp/tmp.Xy12ab":              "/tmp/tmp.Zz98cd",
		"/tmp/tmpabc123/f":             "/tmp/tmpdef456/f",
		"listening on 127.0.0.1:43211": "listening on 127.0.0.1:43212",
		"3 passed":                     "2 passed",
		"[1] 4711":                     "[1] 4712",
		"version 2.4.6":                "version 2.4.7",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b856",
		"total 4":            "total 8",
		"line 12 of file.py": "line 13 of file.py",
		"-rw-r--r-- 1 root root 10 Nov 21 23:58 f": "-rw-r--r-- 1 root root 11 Nov 21 23:58 f",
		"0x1f": "0x2f",
	} {
		if a, b := withoutNoise([]byte(was)), withoutNoise([]byte(now)); string(a) == string(b) {
			t.Errorf("%q and %q are taken as equal: %q", was, now, a)
		}
	}
}

package logparse

// These parsers of SWE-rebench-V2 are completely described by a table of expressions.

// rebenchXUnit reads the output of `dotnet test`.
var rebenchXUnit = byRules((*results).setPass,
	rule{has: "[FAIL]", expr: `^\[xUnit\.net\s+[` + digitChars + `:.]+\]\s+(.+?)\s+\[FAIL\]$`, status: Failed},
	rule{has: "Failed", expr: `^\s+Failed\s+(.+?)\s+\[.+?\]$`, status: Failed},
	rule{has: "Skipped", expr: `^\s+Skipped\s+(.+?)(?:\s+\[.+?\])?$`, status: Skipped},
	rule{has: "Passed", expr: `^\s+Passed\s+(.+?)\s+\[.+?\]$`, status: Passed})

// rebenchExUnit reads the output of `mix test --trace`.
var rebenchExUnit = byRules((*results).setPass,
	rule{has: "(skipped)", expr: `^\*\s+test\s+(.*?)\s+\(skipped\)\s+\[L#\d+\]$`, status: Skipped},
	rule{has: ")", expr: `^\d+\)\s+test\s+(.*?)\s+\([^)]+\)$`, status: Failed},
	rule{has: "ms)", expr: `^\*\s+test\s+(.*?)\s+\([0-9]+(?:\.[0-9]+)?ms\)\s+\[L#\d+\]$`, status: Passed},
	rule{has: "[L#", expr: `^\*\s+test\s+(.*?)\s+\[L#\d+\]$`, status: Passed})

// rebenchXCTest reads the output of `swift test`.
var rebenchXCTest = byRules((*results).set,
	rule{has: "Test Case '", expr: `^Test Case '([^']+)'\s+(?<word>passed|failed)\s+\([0-9.]+\s+seconds\)$`})

// rebenchRubyVerbose reads the output of minitest's verbose mode. An error is a failure.
var rebenchRubyVerbose = byRules((*results).set, rule{
	has:   "#",
	expr:  `^(.+?#.+?)\s+=\s+[` + digitChars + `.]+\s+s\s+=\s+(?<word>[.FES])$`,
	words: map[string]string{".": Passed, "F": Failed, "E": Failed, "S": Skipped},
})

// rebenchCpp2 reads lines "Test NAME passed".
var rebenchCpp2 = byRules((*results).setPass, rule{has: "Test", expr: `^Test\s+(.*?)\s+(?<word>passed|failed|skipped)$`})

// rebenchCTest reads the output of CTest. A test that took too long has failed.
var rebenchCTest = byRules((*results).set, rule{
	has:    "#",
	expr:   `(?i)^\s*\d+/\d+\s+Test\s+#\d+:\s+(.+?)\s+\.+\s+(?<word>Passed|Fa[iıİ]led|Sk[iıİ]pped|T[iıİ]meout)(?:[^` + wordChars + `]|$)`,
	words:  map[string]string{"PASSED": Passed, "FAILED": Failed, "SKIPPED": Skipped, "TIMEOUT": Failed},
	rename: strip,
})

// rebenchJS reads mocha's output with its failures marked by "[W]", or by a heading that ends
// with a colon.
var rebenchJS = byRules((*results).setJS,
	rule{has: "✔", expr: `^✔\s+(.*)$`, status: Passed},
	rule{has: "-", expr: `^-\s+(.*)$`, status: Skipped},
	rule{has: ":", expr: `^\d+\)\s+(.*?):$`, status: Failed},
	rule{has: "[W]", expr: `^\[W\]\s*\d+\)\s+(.*?)$`, status: Failed})

// rebenchJS2 reads mocha's output.
var rebenchJS2 = byRules((*results).setJS,
	rule{has: "✔", expr: `^✔\s+(.*)$`, status: Passed},
	rule{has: "-", expr: `^-\s+(.*)$`, status: Skipped},
	rule{has: ")", expr: `^\d+\)\s+(.*?)$`, status: Failed})

var npxModule = expression(`\s+\([^)]+\)$`)

// rebenchNPX reads mocha's output. The last status of a test counts.
var rebenchNPX = byRules((*results).set,
	rule{has: "✔", expr: `^\s*✔\s+(.+?)(?:\s+\(\d+(?:ms)?\))?$`, status: Passed, rename: strip},
	rule{has: ")", expr: `^\s*\d+\)\s+(.+)$`, status: Failed, rename: func(name string) string {
		return npxModule().ReplaceAllLiteralString(strip(name), "")
	}})

// rebenchScala reads ScalaTest's output with times.
var rebenchScala = byRules((*results).setPass,
	rule{has: "FAILED", expr: `^\[info\]\s+-\s+(.*?)\s+\*\*\*\s+FAILED\s+\*\*\*\s+\([^)]+\)$`, status: Failed},
	rule{has: "CANCELED", expr: `^\[info\]\s+-\s+(.*?)\s+!!!\s+CANCELED\s+!!!\s+\([^)]+\)$`, status: Skipped},
	rule{has: "IGNORED", expr: `^\[info\]\s+-\s+(.*?)\s+!!!\s+IGNORED\s+!!!`, status: Skipped},
	rule{has: "[info]", expr: `^\[info\]\s+-\s+(.*?)\s+\([^)]+\)$`, status: Passed})

// rebenchBrackets reads lines that begin with a word in brackets.
var rebenchBrackets = byRules((*results).setWorst, rule{
	has:  "]",
	expr: `^\[(?<word>[A-Za-z][A-Za-z0-9_-]*)\]\s+(.+)$`,
	words: map[string]string{
		"OK": Passed, "PASS": Passed, "PASSED": Passed, "SUCCESS": Passed,
		"SKIP": Skipped, "SKIPPED": Skipped, "TODO": Skipped, "PENDING": Skipped, "DISABLED": Skipped,
		"FAIL": Failed, "FAILED": Failed, "ERROR": Failed, "EXCEPTION": Failed, "CRASH": Failed, "FATAL": Failed, "KO": Failed, "PANIC": Failed,
	},
	rename: oneLine,
})

package attempt

import "batch.example/batch/internal/lazy"

const month = `(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*`

// noise matches text that differs between two runs of the same commands and that later
// commands cannot depend on: times of day, dates, durations, and memory addresses. Names,
// hashes and other numbers are not noise, because the model may use one that it saw.
var noise = lazy.Regexp(`(?i)` +
	// Sat Nov 21 23:58:29 UTC 2026; Nov 21 23:58; 21 Nov 2026 23:58:29
	`\b(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +)?(?:` + month + ` +\d{1,2}|\d{1,2} +` + month + `)(?:,? +\d{4})?,? +` +
	`\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[ap]m)?(?: +(?:utc|gmt|[+-]\d{4}))?(?: +\d{4})?\b` +
	// 2026-11-21; 2026-11-21 23:58; 2026-11-21T23:58:29.5+00:00
	`|\b\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[+-]\d\d:?\d\d|z)?)?\b` +
	// 23:58:29
	`|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b` +
	// 0.12s; 3 seconds; 0m0.004s
	`|\b(?:\d+m ?)?\d+(?:\.\d+)? ?(?:s|ms|us|µs|ns|secs?|seconds?|minutes?)\b` +
	// 0x7f3a5c001234
	`|\b0x[0-9a-f]{6,}\b`)

func withoutNoise(output []byte) []byte { return noise().ReplaceAll(output, []byte("~")) }

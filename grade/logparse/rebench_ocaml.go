package logparse

import (
	"slices"
	"strings"
)

// worst orders statuses: a later status of a test replaces one before it in this order.
var worst = []string{Passed, Skipped, Failed, Error}

// setWorst records a status unless a worse one is known.
func (r *results) setWorst(name, status string) {
	if before, known := r.statuses[name]; !known || slices.Index(worst, status) >= slices.Index(worst, before) {
		r.set(name, status)
	}
}

var (
	alcotestLine  = expression(`^\s*\[([A-Z]+)\]\s+(.*?)\s+(\d+)\s+(.+)$`)
	alcotestWords = map[string]string{
		"OK": Passed, "PASS": Passed, "FAIL": Failed, "FAILED": Failed, "ERROR": Error, "ERR": Error, "SKIP": Skipped, "SKIPPED": Skipped, "TODO": Skipped,
	}
)

// rebenchAlcotest reads the output of Alcotest: "[OK] suite 1 name". Another word is an error.
func rebenchAlcotest(line string, out *results) {
	m := alcotestLine().FindStringSubmatch(line)
	if m == nil {
		return
	}
	name := strip(m[2])
	for _, part := range m[3:] {
		name = strings.TrimPrefix(name+" "+strip(part), " ")
	}
	switch status := alcotestWords[m[1]]; status {
	case Passed:
		out.setFirst(name, Passed)
	case "":
		out.set(name, Error)
	default:
		out.set(name, status)
	}
}

var (
	duneRunning = expression(`^Running\[(\d+)\]:\s+\((.+)\)$`)
	duneOutput  = expression(`^Output\[(\d+)\]:`)
	duneFails   = []string{"FAIL", "ERROR", "EXCEPTION", "CRASH", "FATAL"}
)

// rebenchDune reads dune's log: the output of a program determines the program's status.
func rebenchDune(log string, _ input, out *results) error {
	names := map[string]string{}
	active := ""
	var seen []string
	for line := range splitLines(log) {
		line = strip(line)
		if m := duneRunning().FindStringSubmatch(line); m != nil {
			id := duneID(m[1])
			active, names[id] = "", duneName(m[2], "run_"+id)
			continue
		}
		if m := duneOutput().FindStringSubmatch(line); m != nil {
			active = names[duneID(m[1])]
			continue
		}
		if line == "" || active == "" {
			continue
		}
		seen = append(seen, active)
		upper := strings.ToUpper(line)
		switch {
		case slices.ContainsFunc(duneFails, func(word string) bool { return strings.Contains(upper, word) }):
			out.setWorst(active, Failed)
		case strings.Contains(upper, "SKIP"):
			out.setWorst(active, Skipped)
		case upper == "OK":
			out.setWorst(active, Passed)
		}
	}
	for _, name := range seen {
		out.setFirst(name, Passed)
	}
	return nil
}

// duneID returns a number without leading zeros.
func duneID(digits string) string {
	if short := strings.TrimLeft(digits, "0"); short != "" {
		return short
	}
	return "0"
}

// duneName returns the name of the last program that a command runs.
func duneName(command, otherwise string) string {
	parts := strings.Split(command, "&&")
	command = strip(parts[len(parts)-1])
	if after, ok := strings.CutPrefix(command, "exec "); ok {
		command = strip(after)
	}
	program, _ := cutWord(strings.TrimPrefix(command, "./"))
	if program = program[strings.LastIndexByte(program, '/')+1:]; program == "" {
		return otherwise
	}
	return program
}

var (
	ocamlbuildColor = expression("\x1b\\[[0-9;]*m")
	ocamlbuildGap   = expression(`\s{2,}`)
)

// rebenchOcamlbuild reads lines of a status and a name, which ends before a gap.
func rebenchOcamlbuild(line string, out *results) {
	ocamlbuildLine(strip(stripANSI(ocamlbuildColor().ReplaceAllLiteralString(line, " "))), out)
}

var ocamlbuildLine = byRules((*results).setWorst, rule{
	expr: `^(?<word>PASSED|FAILED|SKIPPED|ERROR)\s+(.*)$`,
	rename: func(name string) string {
		name = strip(name)
		if gap := ocamlbuildGap().FindStringIndex(name); gap != nil {
			return name[:gap[0]]
		}
		return name
	},
})

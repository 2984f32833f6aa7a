package logparse

import "unicode/utf8"

// phpunit reads phpunit --testdox: a suite "Name (Class)", and below it its tests, each
// after a mark. Nothing is trimmed at the end of a name.
func phpunit(log string, _ input, out *results) error {
	return phpunitNamed(log, func(name string) string { return name }, out)
}

// phpunitNamed is phpunit with a function that changes a test's name.
func phpunitNamed(log string, rename func(string) string, out *results) error {
	suite := "None" // the reference's name before the first suite
	for line := range lines(log) {
		if name, ok := phpunitSuite(line); ok {
			suite = name
			continue
		}
		if name, status := phpunitTest(line); status != "" {
			out.setJoined(status, suite, " > ", rename(name))
		}
	}
	return nil
}

// phpunitSuite is `^(\w.+) \(.+\)$`.
func phpunitSuite(line string) (name string, ok bool) {
	name, ok = cutParens(line)
	first, _ := utf8.DecodeRuneInString(name)
	return name, ok && isWord(first) && hasTwo(name)
}

var phpunitMarks = []mark{{"✔", Passed}, {"✘", Failed}, {"↩", Skipped}}

// phpunitTest is `^\s*([✔✘↩])\s*(.*)$`.
func phpunitTest(line string) (name, status string) {
	name, status = cutMark(stripLeft(line), phpunitMarks)
	return stripLeft(name), status
}

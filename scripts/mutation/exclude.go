package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// exclusion says of some mutants that nobody could see them.
type exclusion struct {
	file, kind, source string // file "*" is any; source is a part of the line
	reason             string
}

// readExclusions reads lines of the form
//
//	FILE: KIND: PART OF THE LINE
//
// each below its reason, one or more lines that begin with #. A line without a
// reason is an error.
func readExclusions(path string) ([]exclusion, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []exclusion
	var reason []string
	number := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		number++
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			reason = nil
			continue
		}
		if text, ok := strings.CutPrefix(line, "#"); ok {
			reason = append(reason, strings.TrimSpace(text))
			continue
		}
		parts := strings.SplitN(line, ": ", 3)
		if len(parts) != 3 || len(reason) == 0 {
			return nil, fmt.Errorf("%s:%d: want FILE: KIND: PART OF THE LINE, below a reason", path, number)
		}
		list = append(list, exclusion{parts[0], parts[1], parts[2], strings.Join(reason, " ")})
	}
	return list, nil
}

func (e exclusion) fits(m mutant) bool {
	return (e.file == "*" || strings.HasSuffix(filepath.ToSlash(m.file), "/"+e.file)) &&
		e.kind == m.kind && strings.Contains(m.source, e.source)
}

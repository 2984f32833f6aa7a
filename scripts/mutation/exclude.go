package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// exclusion names mutants that no test can notice.
type exclusion struct {
	file, kind, after string // file "*" means any file; after is a part of the changed line
}

// readExclusions reads lines of the form
//
//	FILE: KIND: PART OF THE CHANGED LINE
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
	reasoned := false
	number := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		number++
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			reasoned = false
			continue
		}
		if strings.HasPrefix(line, "#") {
			reasoned = true
			continue
		}
		parts := strings.SplitN(line, ": ", 3)
		if len(parts) != 3 || !reasoned {
			return nil, fmt.Errorf("%s:%d: want FILE: KIND: PART OF THE CHANGED LINE, below a reason", path, number)
		}
		list = append(list, exclusion{parts[0], parts[1], parts[2]})
	}
	return list, nil
}

func (e exclusion) fits(m mutant) bool {
	return (e.file == "*" || strings.HasSuffix(filepath.ToSlash(m.file), "/"+e.file)) &&
		e.kind == m.kind && strings.Contains(m.after, e.after)
}

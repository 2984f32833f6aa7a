package evaluate

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/internal/bash"
)

// The official markers.
var (
	startText = grade.StartMarker("")
	endText   = grade.EndMarker("")
)

// exitCodeName is the variable with the exit code of the test command, as in the harness.
const exitCodeName = "SWEBENCH_TEST_EXIT_CODE"

// header is the beginning of every script.
var header = []string{"#!/bin/bash", "set -uxo pipefail"}

// script is an eval script in the form that runs.
type script struct {
	text  string
	coded bool // the exit code is the test command's, not the last command's
}

// compose returns a row's eval script as the harness runs it (parse_eval_script,
// record_test_exit_code and TestSpec.eval_script of release 5.0.2), with the nonce in the two
// markers, with the lines first at its beginning, and with the lines before ahead of the tests.
// Bash reads a compound command completely before it runs any of it, so a process that writes into
// the file cannot change the part in braces.
func compose(eval, nonce string, first, before []string) script {
	lines := commands(eval)
	start := lineWith(lines, startText)
	if start < 0 { // the whole script is tests
		lines, start = slices.Insert(lines, 0, "echo '"+startText+"'"), 0
	}
	lines[start] = strings.Replace(lines[start], startText, grade.StartMarker(nonce), 1)
	lines = slices.Insert(lines, start, before...)
	coded := lineWith(lines, endText) >= 0
	if coded {
		lines = recordExitCode(lines)
	} else {
		lines = append(lines, exitCodeName+"=$?", "echo '"+endText+"'")
	}
	end := lineWith(lines, endText)
	lines[end] = strings.Replace(lines[end], endText, grade.EndMarker(nonce), 1)
	lines = slices.Concat(header, []string{"{"}, first, lines, []string{"exit $" + exitCodeName, "}"})
	return script{text: strings.Join(lines, "\n") + "\n", coded: coded}
}

// commands returns the lines of a script without the header.
func commands(eval string) []string {
	lines := strings.Split(strings.TrimSpace(eval), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return slices.Contains(header, line) })
}

// recordExitCode adds lines before and after the line with the end marker to keep the exit code of
// the test command: afterwards the test files are reset, and the code would be lost.
func recordExitCode(lines []string) []string {
	i := lineWith(lines, endText)
	if i < 0 {
		return lines
	}
	return slices.Concat(lines[:i],
		[]string{exitCodeName + "=$?", lines[i], fmt.Sprintf(`echo ">>>>> Test Exit Code: $%s"`, exitCodeName)},
		lines[i+1:])
}

func lineWith(lines []string, text string) int {
	return slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, text) })
}

// copies returns the commands that copy the assets to their places after the test patch.
func copies(from string, assets []Asset) []string {
	var lines []string
	for i, a := range assets {
		lines = append(lines, fmt.Sprintf("mkdir -p %s && cp %s %s",
			bash.Quote(path.Dir(a.Path)), assetFile(from, i), bash.Quote(a.Path)))
	}
	return lines
}

// assetFile returns the path of asset number i in the folder.
func assetFile(folder string, i int) string { return fmt.Sprintf("%s/asset-%d", folder, i) }

// Assets returns the files that a row lists for its tests and its gold patch, and that patches in text form
// cannot carry. read returns a file's bytes, or an error that is [fs.ErrNotExist].
//
// The harness grades without files that it cannot get. Here a missing file is an Instance fault,
// since a verdict without it would be meaningless. Other errors of read are passed on.
func Assets(in dataset.Instance, read func(dataset.Asset) ([]byte, error)) ([]Asset, error) {
	declared, err := in.TestAssets()
	if err != nil {
		return nil, err
	}
	var found []Asset
	var missing []string
	for _, source := range declared {
		if forbidden(source.Path) != "" || path.IsAbs(source.Path) {
			return nil, fault.Newf(fault.Instance, "reading the column image_assets: %q is not a path in the repository", source.Path)
		}
		data, err := read(source)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, source.Path)
		case err != nil:
			return nil, err
		default:
			found = append(found, Asset{Path: source.Path, Data: data})
		}
	}
	if len(missing) > 0 {
		return nil, fault.Newf(fault.Instance, "the tests need files that the row does not carry: %s", list(missing)).
			WithHint("give a task repository's folder tasks with `--assets`: it has them as ID/test_assets/PATH")
	}
	return found, nil
}

package evalscript

import (
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
)

// Row is the input of a script; each field is the column of that name.
type Row struct {
	InstanceID string
	Repo       string
	Version    string
	BaseCommit string
	TestPatch  string
}

// The lines around the output of the tests. With `set -x` the shell prints them on standard error.
const (
	startMarker = ": '>>>>> Start Test Output'"
	endMarker   = ": '>>>>> End Test Output'"
)

// forms has the lines of a script after its first two, by the form in the table.
var forms = map[string]func(Row, Commands) []string{
	"python":       python,
	"multilingual": multilingual,
	"multimodal":   multimodal,
}

// Derive returns the bash script that SWE-bench 5 publishes in column eval_script. In the
// repository at /testbed, the script resets the files of the test patch, applies the patch, runs
// the tests between two markers, and resets the files again. Its exit code says nothing. An error
// is an Instance fault that names the unknown repository or version.
func Derive(row Row) (string, error) {
	form, s, err := find(row)
	if err != nil {
		return "", err
	}
	return script(forms[form](row, s)), nil
}

// Python returns the script for a row of a Python repository with other test commands than the
// table's, for datasets in the form of SWE-bench 4.
func Python(row Row, c Commands) string { return script(python(row, c)) }

func script(lines []string) string {
	return "#!/bin/bash\nset -uxo pipefail\n" + strings.Join(lines, "\n") + "\n"
}

func python(row Row, s Commands) []string {
	activate := []string{"source /opt/miniconda3/bin/activate", "conda activate testbed"}
	reset := join("git checkout "+row.BaseCommit, TestFiles(row.TestPatch))
	return slices.Concat(
		activate,
		[]string{"cd /testbed"},
		s.EvalCommands,
		[]string{"git config --global --add safe.directory /testbed", "cd /testbed"},
		look(row),
		activate,
		s.Install,
		[]string{
			reset,
			apply(row.TestPatch),
			startMarker,
			join(strings.Join(s.TestCmd, " "), Directives(row.Repo, row.TestPatch)),
			endMarker,
			reset,
		},
	)
}

func multilingual(row Row, s Commands) []string {
	reset := resetOrRemove(row, func(c change) string { return c.from })
	return slices.Concat(
		[]string{"cd /testbed", "git config --global --add safe.directory /testbed"},
		look(row),
		[]string{reset, apply(row.TestPatch)},
		s.Build,
		[]string{startMarker, "(" + strings.Join(s.TestCmd, " && ") + ") | cat", endMarker, reset},
	)
}

func multimodal(row Row, s Commands) []string {
	reset := resetOrRemove(row, func(c change) string { return c.to })
	lines := slices.Concat(
		[]string{"cd /testbed", "git config --global --add safe.directory /testbed", "source $NVM_DIR/nvm.sh"},
		look(row),
		[]string{reset},
	)
	text, binaries := withoutBinaries(row.TestPatch)
	if text != "" {
		lines = append(lines, apply(text))
	}
	if binaries {
		lines = append(lines, "test -d /swebench/image_assets/test_patch && cp -a /swebench/image_assets/test_patch/. /testbed/ 2>/dev/null || true")
	}
	return append(lines, installAgain, startMarker, strings.Join(byPackage(row, s.TestCmd), " ; "), endMarker, reset)
}

// installAgain is for patches that change the dependencies of a JavaScript repository.
const installAgain = `if ! git diff --quiet HEAD -- package.json 2>/dev/null; then ` +
	`echo "package.json changed by patch; re-syncing dependencies"; ` +
	`export PUPPETEER_SKIP_DOWNLOAD=true PUPPETEER_SKIP_CHROMIUM_DOWNLOAD=true; ` +
	`if [ -f yarn.lock ]; then timeout 900 yarn install --silent > /dev/null 2>&1 || true; ` +
	`else timeout 900 npm install --silent > /dev/null 2>&1 || true; fi; ` +
	`chmod -R a+rX node_modules > /dev/null 2>&1 || true; fi`

var packageDir = lazy.Regexp(`^packages/[^/]+`)

// byPackage returns the test commands, one for each package that the test patch changes, for
// repositories that are tested by package: react-pdf since version 2.
func byPackage(row Row, commands []string) []string {
	if row.Repo != "diegomura/react-pdf" || strings.HasPrefix(row.Version, "1.") {
		return commands
	}
	var dirs []string
	for _, file := range TestFiles(row.TestPatch) {
		if dir := packageDir().FindString(file); dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return commands
	}
	for i, dir := range dirs {
		dirs[i] = strings.Join(commands, " ") + " " + dir
	}
	return dirs
}

// look returns commands that write the state of the repository into the log.
func look(row Row) []string {
	return []string{"git status", "git show", "git -c core.fileMode=false diff " + row.BaseCommit}
}

// delimiter ends the test patch in the script.
const delimiter = "EOF_114329324912"

func apply(diff string) string {
	return "git apply -v - <<'" + delimiter + "'\n" + diff + "\n" + delimiter
}

// resetOrRemove returns the command that resets the files of the test patch to the base commit and
// removes the files that it creates. The published scripts of the two datasets name different paths
// of a renamed file; path chooses one.
func resetOrRemove(row Row, path func(change) string) string {
	var old, created []string
	for _, c := range changes(row.TestPatch) {
		if c.created {
			created = append(created, path(c))
		} else {
			old = append(old, path(c))
		}
	}
	var commands []string
	if len(old) > 0 {
		commands = append(commands, join("git checkout "+row.BaseCommit, old))
	}
	if len(created) > 0 {
		commands = append(commands, join("rm -f", created))
	}
	if len(commands) == 0 {
		return `echo "No test files to reset"`
	}
	return strings.Join(commands, " && ")
}

func join(command string, args []string) string {
	return strings.Join(append([]string{command}, args...), " ")
}

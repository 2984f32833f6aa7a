package journal_test

import (
	"testing"

	"batch.example/batch/journal"
)

func TestEditsAreGuessedFromACommand(t *testing.T) {
	for command, want := range map[string]bool{
		"ls -la":                                                 false,
		"cat a.py":                                               false,
		"sed -n 1,20p a.py":                                      false,
		"sed -i 's/a/b/' a.py":                                   true,
		"cd x && sed -e 1d -i a.py":                              true,
		"sed --in-place s/a/b/ a.py":                             true,
		"perl -pi -e s/a/b/ a.py":                                true,
		"cat > a.py <<'EOF'\nx\nEOF":                             true,
		"cat >a.py <<'EOF'\nx\nEOF":                              true,
		"cat <<'EOF' > a.py\nx\nEOF":                             true,
		"echo x >> a.py":                                         true,
		"echo x > /dev/null":                                     false,
		"ls 2>/dev/null; echo $? 2>&1":                           false,
		"python -m pytest > /dev/null":                           false,
		"echo x | tee a.py":                                      true,
		"make | tee -a log.txt":                                  true,
		"patch -p1 < x.diff":                                     true,
		"git apply x.diff":                                       true,
		"git log -p":                                             false,
		"git diff a.py":                                          false,
		"str_replace_editor view /a.py":                          false,
		"str_replace_editor create /a.py":                        true,
		"edit 3:4\nx\nend_of_edit":                               true,
		"python - <<'P'\nopen('a.py', 'w').write(x)\nP":          true,
		"python - <<'P'\nprint(open('a.py').read())\nP":          false,
		"path='a.py'\nsay() { x; }\nrefuse() { x; }\ntext='x'\n": true,
		"path='a.py'\nsay() { x; }\nrefuse() { x; }\nfirst=0 last=-1\n[ -e x ]\n": false,
		"grep -rn 'ed ' .":              false,
		"for f in *; do echo hi; done":  false,
		"python setup.py create_thing":  false,
		"if true; then sed -i 1d a; fi": true,
	} {
		if got := journal.ChangesFile("", command); got != want {
			t.Errorf("Edits(%q) = %t, want %t", command, got, want)
		}
	}
	for arguments, want := range map[string]bool{"command: view\npath: a": false, "command: str_replace\npath: a": true, `{"command":"view"}`: false} {
		if got := journal.ChangesFile("editor", arguments); got != want {
			t.Errorf("EditsByTool(editor, %q) = %t, want %t", arguments, got, want)
		}
	}
}

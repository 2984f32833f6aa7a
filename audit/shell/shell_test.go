package shell_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/audit/shell"
	"batch.example/batch/internal/bash"
)

func TestSplitFindsTheCommands(t *testing.T) {
	for script, want := range map[string][]string{
		"":                          nil,
		"# curl x":                  nil,
		"ls -la":                    {"ls|-la"},
		"a 'b c' \"d $e\" f\\ g":    {"a|b c|d $e|f g"},
		"a; b && c || d | e & f\ng": {"a", "b", "c", "d", "e", "f", "g"},
		"a \\\n  b":                 {"a|b"},
		"echo 'curl x' # wget y":    {"echo|curl x"},
		`echo "a \"curl\" b"`:       {`echo|a "curl" b`},
		"echo $(curl x) `wget y`":   {"curl|x", "wget|y", "echo|$(curl x)|`wget y`"},
		`echo "$(curl x)"`:          {"curl|x", "echo|$(curl x)"},
		"(cd a && b) ; { c; }":      {"cd|a", "b", "c"},
		"if a; then b; elif c; then d; else e; fi":                    {"a", "b", "c", "d", "e"},
		"for f in curl wget; do cat $f; done":                         {"cat|$f"},
		"while ! a; do b; done":                                       {"a", "b"},
		"case $x in a) b;; *) c;; esac":                               {"b", "c"},
		"f() { curl x; }":                                             {"curl|x"},
		"[[ a > b && c < d ]] && e":                                   {"[[|a|>|b|c|<|d|]]", "e"},
		"[[ $x =~ (curl|wget) ]]; a":                                  {"[[|$x|=~|(curl|wget)|]]", "a"},
		"((a > b)) && c":                                              {"c"},
		"a=(curl x); declare b=(wget y); c":                           {"", "declare|b=", "c"},
		"U=http://h/x; curl $U ${U} '$U'":                             {"", "curl|http://h/x|http://h/x|$U"},
		"X=1 Y=2 a b":                                                 {"a|b"},
		"a > b 2>&1 <c >>d &>e 2> f g":                                {"a|g"},
		"diff <(curl x) b":                                            {"curl|x", "diff|/dev/fd/63|b"},
		"cat <<EOF\ncurl x\nEOF\na":                                   {"cat", "a"},
		"cat <<'E O' > f\n$(curl x)\nE O\na":                          {"cat", "a"},
		"cat <<-E\n\tcurl x\n\tE\na":                                  {"cat", "a"},
		"cat <<A <<B\ncurl\nA\nwget\nB\na":                            {"cat", "a"},
		"cat <<E > f\na $(curl x) `wget y` \\$(no)\nE\na":             {"curl|x", "wget|y", "cat", "a"},
		"bash <<EOF\ncurl x\nEOF":                                     {"curl|x"},
		"echo 'curl x; wget y' | bash":                                {"echo|curl x; wget y", "curl|x", "wget|y"},
		"echo -e curl x |\n sudo sh -s":                               {"echo|-e|curl|x", "curl|x"},
		"printf 'curl %s\\nwget y' x | (sh)":                          {"printf|curl %s\\nwget y|x", "curl|x", "wget|y"},
		"printf '%s\\n' 'curl x' wget | sh -":                         {"printf|%s\\n|curl x|wget", "curl|x", "wget"},
		"echo -ne 'a\\ncurl x' | bash":                                {"echo|-ne|a\\ncurl x", "a", "curl|x"},
		"echo curl x | bash a; echo curl x || bash; echo":             {"echo|curl|x", "bash|a", "echo|curl|x", "bash", "echo"},
		"echo curl x > a | bash; echo curl x | xargs sh":              {"echo|curl|x", "bash", "echo|curl|x", "sh"},
		"echo curl x; bash | cat":                                     {"echo|curl|x", "bash", "cat"},
		"bash -lc 'curl x && wget y'":                                 {"curl|x", "wget|y"},
		"sh -o pipefail -c 'a | b'":                                   {"a", "b"},
		"bash run.sh -c x":                                            {"bash|run.sh|-c|x"},
		"eval 'curl x'":                                               {"curl|x"},
		"sudo -u me env A=1 timeout -s 9 5 nice -n 3 /usr/bin/curl x": {"/usr/bin/curl|x"},
		"conda run -n testbed pip install x":                          {"pip|install|x"},
		"command -v curl":                                             {"command|-v|curl"},
		"which curl":                                                  {"which|curl"},
		"cat l | xargs -n 1 curl -O":                                  {"cat|l", "curl|-O"},
		`find . -name a -exec curl {} \;`:                             {"curl|{}", `find|.|-name|a|-exec|curl|{}|;`},
		"echo $((1 + 2)) ${x:-$(a)}":                                  {"echo|$((1 + 2))|${x:-$(a)}"},
		"a $'b\\'c\\n' d":                                             {"a|b'c\n|d"},
		"a 'open":                                                     {"a|open"},
		"a \"open $(b":                                                {"b", "a|open $(b"},
		"a <<E\nbody without end":                                     {"a"},
	} {
		var got []string
		for _, c := range shell.Split(script) {
			got = append(got, strings.Join(c.Words, "|"))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", script, d)
		}
	}
}

func TestACommandHasItsRedirectionsTextAndDirectory(t *testing.T) {
	got := shell.Split("cd src && X=1 cat a 2>/dev/null >b <<'E' | tee c\none $x\nE\n(cd d; e); f <<< 'g h'")
	want := []shell.Command{
		{Words: []string{"cd", "src"}, Text: "cd src"},
		{Words: []string{"tee", "c"}, Text: "tee c", Dir: "src"},
		{
			Words: []string{"cat", "a"}, Assigns: []string{"X=1"}, Text: "X=1 cat a 2>/dev/null >b <<'E'", Dir: "src",
			Redirects: []shell.Redirect{{">", "/dev/null"}, {">", "b"}}, Stdin: "one $x\n",
		},
		{Words: []string{"cd", "d"}, Text: "cd d", Dir: "src"},
		{Words: []string{"e"}, Text: "e", Dir: "src/d"},
		{Words: []string{"f"}, Text: "f <<< 'g h'", Dir: "src/d", Stdin: "g h\n"}, // a subshell's cd is taken for the script's
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A script that is made to be expensive takes no more than its length allows.
func TestHostileScriptsHaveFewCommands(t *testing.T) {
	for name, script := range map[string]string{
		"substitutions": strings.Repeat("$(", 200_000),
		"backquotes":    strings.Repeat("`\\", 200_000),
		"braces":        strings.Repeat("${", 200_000),
		"variables":     "a=" + strings.Repeat("x", 250) + "\nb " + strings.Repeat("$a ", 200_000),
		"documents":     strings.Repeat("a <<E\n", 100_000),
		"commands":      strings.Repeat("a;", 400_000),
		"eval":          strings.Repeat("eval ", 100_000),
		"quotes":        strings.Repeat("'\"", 200_000),
		"arithmetic":    strings.Repeat("$((", 200_000) + strings.Repeat("((", 100_000),
		"pipes":         strings.Repeat("echo $(", 11) + strings.Repeat("a ", 200_000) + strings.Repeat(") | sh", 11),
		"nested":        strings.Repeat("bash -c \"", 100_000),
	} {
		if n := len(shell.Split(script)); n > 20_000 { // if one took the square of its length, the test would not end
			t.Errorf("%s: %d commands", name, n)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("cat <<E | a $(b `c`) 'd' \"${e}\" && [[ f ]] >g\nE\n", "it's", "$x")
	f.Add("echo <()<()<() | sh", "a|sh", "")
	f.Add("case x in a) b;; esac; f() { g; }; h=(i)", "", "\n")
	f.Fuzz(func(t *testing.T, script, one, two string) {
		for _, c := range shell.Split(script) {
			if !strings.Contains(script, "bash") && len(c.Text) > len(script) {
				t.Errorf("the text %q is longer than the script %q", c.Text, script)
			}
		}
		if strings.Contains(one+two, "\x00") {
			return
		}
		want := []string{"name", one, two}
		got := shell.Split("name " + bash.Quote(one) + " " + bash.Quote(two))
		if len(got) != 1 || cmp.Diff(want, got[0].Words) != "" {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

package audit

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/dataset"
	"batch.example/batch/internal/bash"
	"batch.example/batch/results/trajectory"
)

// read returns the commands in a script, with bars between their words.
func read(script string) (list []string) {
	r := newReader(map[string]string{})
	r.script(script, "")
	for _, c := range r.commands {
		list = append(list, strings.Join(c.words, "|"))
	}
	return list
}

func TestTheCommandsOfAScript(t *testing.T) {
	for script, want := range map[string][]string{
		"":                          nil,
		"# curl x":                  nil,
		"a 'b c' \"d $e\" f\\ g":    {"a|b c|d $e|f g"},
		"a; b && c || d | e & f\ng": {"a", "b", "c", "d", "e", "f", "g"},
		"echo 'curl x' # wget y":    {"echo|curl x"},
		"echo $(curl x) `wget y`":   {"curl|x", "wget|y", "echo|$()|$()"},
		"echo $(echo a b)":          {"echo|a|b", "echo|a|b"},
		"(cd a && b) ; { c; }":      {"cd|a", "b", "c"},
		"if a; then b; elif c; then d; else e; fi":                    {"a", "b", "c", "d", "e"},
		"for f in curl 'wget x'; do $f y; done":                       {"curl|y", "wget|x|y"},
		"for ((i=0; i<9; i++)); do a; done":                           {"a"},
		"while ! a; do b; done":                                       {"a", "b"},
		"printf '1\\n2' | while read x; do a $x; done":                {"printf|1\\n2", "a|1", "a|2"},
		"case $x in a) b;; *) c;; esac":                               {"b", "c"},
		"f() { curl $1 $2; }; f a":                                    {"curl|a|$2"},
		"f() { f; }; f":                                               nil,
		"[[ $(a) > b ]] && e; ((1 > 0))":                              {"a", "e"},
		"a=(curl x); declare b=(wget y); ${a[@]} z":                   {"", "declare|b=", "curl|x|z"},
		"U=h/x; V=$U/y; U+=z; curl $U ${V%/y} '$U'":                   {"", "", "", "curl|h/xz|h/x|$U"},
		"X=1 Y=2 a b":                                                 {"a|b"},
		"a {b,c}d ~/e *.f $((1+2))":                                   {"a|bd|cd|~/e|*.f|3"},
		"git${IFS}log$IFS--all":                                       {"git|log|--all"},
		"a > b 2>&1 <c >>d &>e 2> f g":                                {"a|g"},
		"diff <(curl x) b":                                            {"curl|x", "diff|/dev/fd/63|b"},
		"cat <<'E O' > f\n$(curl x)\nE O\na":                          {"cat", "a"},
		"cat <<E > f\na $(curl x) \\$(no)\nE\na":                      {"curl|x", "cat", "a"},
		"bash <<EOF\ncurl x\nEOF":                                     {"curl|x"},
		"echo 'curl x; wget y' | bash":                                {"echo|curl x; wget y", "curl|x", "wget|y"},
		"printf '%s\\n' 'curl x' wget | sudo sh -":                    {"printf|%s\\n|curl x|wget", "curl|x", "wget"},
		"echo curl x | bash a; echo curl x || bash":                   {"echo|curl|x", "bash|a", "echo|curl|x", "bash"},
		"sh -o pipefail -c 'a $1 | b' x y":                            {"a|y", "b"},
		"echo a > s; echo b >> s; bash s; cat s | sh":                 {"echo|a", "echo|b", "a", "b", "cat|s", "a", "b"},
		"tee s <<< a; cp s t; . ./t":                                  {"tee|s", "cp|s|t", "a"},
		"echo a 2>/dev/null | sh; echo b 2>&1 | sh":                   {"echo|a", "a", "echo|b", "b"},
		"eval 'curl x'":                                               {"curl|x"},
		"sudo -u me env A=1 timeout -s 9 5 nice -n 3 /usr/bin/curl x": {"/usr/bin/curl|x"},
		"conda run -n testbed pip install x":                          {"pip|install|x"},
		"command -v curl; which curl":                                 {"command|-v|curl", "which|curl"},
		"cat l | xargs -n 1 curl -O":                                  {"cat|l", "curl|-O"},
		"echo a b | xargs -I% c %.d %":                                {"echo|a|b", "c|a b.d|a|b"},
		`find x -name a -exec curl {} \;`:                             {"curl|x/**/a", `find|x|-name|a|-exec|curl|{}|;`},
		"a $'b\\'c\\n' d":                                             {"a|b'c\n|d"},
		"a; b (\nc":                                                   {"a", "c"},
		"a <<E\nbody without end":                                     {"a"},
	} {
		if d := cmp.Diff(want, read(script)); d != "" {
			t.Errorf("%s (-want +got):\n%s", script, d)
		}
	}
}

func TestACommandHasItsTextDirectoryAndInput(t *testing.T) {
	r := newReader(map[string]string{})
	r.script("cd src && X=1 cat a 2>/dev/null >b <<'E' | tee c\none $x\nE\n(cd d; e); f <<< 'g h'", "")
	var got []string
	for _, c := range r.commands {
		got = append(got, c.dir+": "+c.text+": "+c.stdin)
	}
	want := []string{": cd src: ", "src: X=1 cat a 2>/dev/null >b <<'E': one $x\n", "src: tee c: ", "src: cd d: ", "src/d: e: ", "src: f <<< 'g h': g h\n"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A script that is made to be expensive takes no more than its length allows.
func TestHostileScriptsEndSoon(t *testing.T) {
	for name, script := range map[string]string{
		"substitutions": strings.Repeat("$(", 5_000_000),
		"ranges":        "a {1..999999999} {1..9999}{1..9999}{1..9999}",
		"variables":     "a=" + strings.Repeat("x", 250) + "\nb " + strings.Repeat("$a ", 200_000),
		"doubling":      "a=xx;" + strings.Repeat("a=$a$a;", 60) + "b $a",
		"replacing":     "a=" + strings.Repeat("x", 2000) + ";" + strings.Repeat("a=${a//x/$a};", 20_000),
		"formats":       "printf %999999999d | sh; printf '%*d' 999999999 1",
		"documents":     strings.Repeat("a <<E\n", 100_000),
		"commands":      strings.Repeat("a;", 5_000_000),
		"mistakes":      strings.Repeat("a (\n", 200_000),
		"eval":          strings.Repeat("eval ", 100_000),
		"loops":         strings.Repeat("for i in 1 2 3 4 5 6 7 8 9; do ", 30) + "a;" + strings.Repeat(" done;", 30),
		"functions":     "f() { g; g; }; g() { f; f; }; f",
		"itself":        "echo 'bash x; bash x' > x; bash x",
		"nested":        strings.Repeat("bash -c \"", 100_000),
		"program":       "python -c '" + strings.Repeat("f(", 100_000) + "'",
		"strings":       "python -c 'a=\"x\"\n" + strings.Repeat("a=a+a\n", 200) + "b(a)'",
		"escapes":       "python - <<'E'\n" + strings.Repeat("\\\"\"\"", 60_000) + "\nE",
		"comments":      "node - <<'E'\n" + strings.Repeat("/* ", 80_000) + "\nE",
		"calls":         "python - <<E\n" + strings.Repeat("f();", 60_000) + "\nE",
		"urls":          "python - <<E\n" + strings.Repeat("get(\"http://a.b\");", 12_000) + "\nE",
		"lists":         "python -c '" + strings.Repeat("f(\"a\", [", 20_000) + "'",
		"sums":          "python -c 'os.system(" + strings.Repeat("\"a\" + ", 40_000) + "a)'",
		"marks":         "printf '%s\\n' " + strings.Repeat("abcdefgh ", 900) + "| xargs -I{} echo " + strings.Repeat("{}", 50_000),
		"runs":          "python -c '" + strings.Repeat("os.system(\"python x\");", 5_000) + "'",
		"times":         strings.Repeat("time ", 60_000) + "a",
		"names":         "cat > x <<E\n" + strings.Repeat("a.b", 80_000) + "\nE\nfor i in {1..16}; do python x; done",
		"long":          "python - <<E\n" + strings.Repeat("x = open('a').read() + [1, 2]\n", 300_000) + "E",
	} {
		begin := time.Now()
		v := &trajectory.View{Steps: []trajectory.Step{{Actions: []trajectory.Action{{Command: script}}}}}
		if found, _ := Attempt(v, &dataset.Instance{FailToPass: []string{"a.py::b"}}, nil); len(found) > 2*maxSteps {
			t.Errorf("%s: %d findings", name, len(found))
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%s: %s", name, took)
		} else if took > time.Second {
			t.Logf("%s: %s", name, took)
		}
	}
}

func FuzzScript(f *testing.F) {
	f.Add("cat <<E | a $(b `c`) 'd' \"${e}\" && [[ f ]] >g\nE\n", "it's", "$x")
	f.Add("python - <<E\nfor x in glob.glob('a'): open(f'{x}', 'w').write('b' % c)\nE", "a|sh", "")
	f.Add("case x in a) b;; esac; f() { g; }; h=(i); ${h[0]:-x} ${h//a/b}", "", "\n")
	f.Fuzz(func(t *testing.T, script, one, two string) {
		read(script)
		if strings.ContainsAny(one+two, "\x00\r") || !utf8.ValidString(one) || !utf8.ValidString(two) {
			return
		}
		if d := cmp.Diff([]string{"name|" + one + "|" + two}, read("name "+bash.Quote(one)+" "+bash.Quote(two))); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

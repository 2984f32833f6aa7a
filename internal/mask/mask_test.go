package mask_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/internal/mask"
)

// awkward is a secret that every escape changes.
const awkward = `p/w+ "é<😀>\%~=&`

// plainJSON is value in JSON, with <, > and & as they are.
func plainJSON(value string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
	return strings.TrimSuffix(b.String(), "\n")
}

func TestShortValuesAreNotHidden(t *testing.T) {
	m := mask.New(
		mask.Secret{Name: "A", Value: "1"}, mask.Secret{Name: "B", Value: "short"}, mask.Secret{Name: "C", Value: ""},
		mask.Secret{Name: "D", Value: "100000"}, mask.Secret{Name: "E", Value: "  none \n"},
	)
	const text = "1 short none 100000 and more"
	if got := m.Text(text); got != text {
		t.Error(got)
	}
	if got := mask.New(mask.Secret{Name: "A", Value: "123456789012"}).Text("x123456789012y"); got != "x"+mask.Hidden+"y" {
		t.Error(got)
	}
}

func TestOverlappingSecretsAreHiddenCompletely(t *testing.T) {
	m := mask.New(
		mask.Secret{Name: "PART", Value: "secret-one"}, mask.Secret{Name: "WHOLE", Value: "secret-one-and-two"},
		mask.Secret{Name: "SEAM", Value: "two-three"}, mask.Secret{Name: "OTHER", Value: "secret-one"},
	)
	if got := m.Text("a secret-one-and-two-three b secret-one c"); got != "a "+mask.Hidden+" b "+mask.Hidden+" c" {
		t.Error(got)
	}
	if diff := cmp.Diff([]string{"PART", "SEAM", "WHOLE"}, m.Names([]byte("secret-one-and-two-three secret-one"))); diff != "" {
		t.Error(diff)
	}
}

func TestPatterns(t *testing.T) {
	m := mask.New(mask.Secret{Name: "K", Value: "literal-secret"})
	m.AddPatterns(regexp.MustCompile(`corp-[0-9]+`), regexp.MustCompile(`x*`))
	if got := m.Text("corp-17 and literal-secret and corp-x, xx"); got != mask.Hidden+" and "+mask.Hidden+" and corp-"+mask.Hidden+", "+mask.Hidden {
		t.Error(got)
	}
	if diff := cmp.Diff([]string{"K", "corp-[0-9]+"}, m.Names([]byte("corp-1 literal-secret"))); diff != "" {
		t.Error(diff)
	}
}

func TestNilAndEmptyMasksHideNothing(t *testing.T) {
	var none *mask.Masker
	for _, m := range []*mask.Masker{none, mask.New()} {
		var out bytes.Buffer
		w := m.Writer(&out)
		if _, err := io.WriteString(w, "text"); err != nil || w.Flush() != nil || out.String() != "text" {
			t.Errorf("got %v, %q; want flush nil, %q, no error", err, out.String(), "text")
		}
		if m.Text("text") != "text" || string(m.Bytes([]byte("text"))) != "text" || string(m.JSON([]byte(`"t"`))) != `"t"` || m.Names(nil) != nil {
			t.Error("text was hidden without a secret")
		}
	}
}

func TestMaskedJSONStaysValid(t *testing.T) {
	m := mask.New(mask.Secret{Name: "K", Value: "content"}, mask.Secret{Name: "L", Value: "123456789012"}, mask.Secret{Name: "A", Value: awkward})
	m.AddPatterns(regexp.MustCompile(`"quoted"`), regexp.MustCompile(`null`))
	awk, _ := json.Marshal(awkward)
	for text, want := range map[string]string{
		`{"content": "the content", "n": 123456789012, "z": null}`: `{"content": "the ********", "n": 123456789012, "z": null}`,
		`["123456789012","\u0063ontent","a\"quoted\"b"]`:           `["********","********","a********b"]`,
		`{"a" : ["x\\",` + string(awk) + `]}`:                      `{"a" : ["x\\","********"]}`,
		`{"é":"e\u0301 \/ <kept>"}`:                                `{"é":"e\u0301 \/ <kept>"}`,
		`"{\"k\":\"content\"}"`:                                    `"{\"k\":\"********\"}"`,
		`{"cut off": "content`:                                     `{"cut off": "********`,
		``:                                                         ``,
	} {
		if got := string(m.JSON([]byte(text))); got != want {
			t.Errorf("%s\n gives %s\n want  %s", text, got, want)
		}
	}
}

// Users write patterns for lines of text, which have no quotes around them.
func TestAPatternDoesNotReplaceQuotesInJSON(t *testing.T) {
	for pattern, want := range map[string]string{
		`token=\S+`: `{"a":"see ********","b":["x\\y ********",""],"c":"end"}`,
		`.+`:        `{"a":"********","b":["********",""],"c":"********"}`,
		`[^a-z]+`:   `{"a":"see********token********abc","b":["x********y********token********d",""],"c":"end"}`,
		`^end$`:     `{"a":"see token=abc","b":["x\\y token=d",""],"c":"********"}`,
	} {
		m := mask.New()
		m.AddPatterns(regexp.MustCompile(pattern))
		if got := string(m.JSON([]byte(`{"a":"see token=abc","b":["x\\y token=d",""],"c":"end"}`))); got != want {
			t.Errorf("%s\n gives %s\n want  %s", pattern, got, want)
		}
	}
}

// Programs color a part of a line, and a terminal or a page shows the whole.
func TestTheEscapesOfATerminalBringNoSecretOut(t *testing.T) {
	m := mask.New(mask.Secret{Name: "K", Value: "literal-secret"})
	patterns := m.With()
	patterns.AddPatterns(regexp.MustCompile(`corp-[0-9]+`))
	for _, text := range []string{
		"\x1b[31mliteral\x1b[0m-secret", "lit\x1b[01;31m\x1b[Keral\x1b[m\x1b[K-secret", "\x1b]8;;x\x1b\\literal-\x1b]8;;\asecret", "literal-\x1b(Bsecret", "l\x1b[1mi\x1b[0mteral-secret",
		"bGl0ZX\x1b[1mJhbC1zZWNyZX", "literal-\x1bPq\x1b\\secret", "literal-\x1b_q\asecret",
	} {
		want := text[:strings.IndexAny(text, "lb")] + mask.Hidden
		for i := range text {
			if got := streamed(m, text+" z\n", i); got != want+" z\n" {
				t.Errorf("%q in two writes: got %q", text, got)
			}
		}
		quoted, _ := json.Marshal(text)
		hidden, _ := json.Marshal(want)
		if got := m.JSON(quoted); string(got) != string(hidden) {
			t.Errorf("%s: got %s", quoted, got)
		}
	}
	if got := patterns.Text("a corp\x1b[1m-17\x1b[0m b"); got != "a "+mask.Hidden+"\x1b[0m b" {
		t.Errorf("got %q", got)
	}
	if text := "\x1b[31mliteral\x1b[0m secret\x1b"; m.Text(text) != text {
		t.Errorf("got %q", m.Text(text))
	}
}

// A program reads them back, and would not find what it wrote.
func TestAPatternLeavesTimesInJSON(t *testing.T) {
	m := mask.New(mask.Secret{Name: "KEY", Value: "2026-11-29T10:50:08Z"})
	for _, pattern := range []string{`\d{4}`, `.+`, `T`} {
		m.AddPatterns(regexp.MustCompile(pattern))
	}
	const want = `{"a":"2026-11-29T10:50:08.5Z","b":"********","c":"********"}`
	if got := m.JSON([]byte(`{"a":"2026-11-29T10:50:08.5Z","b":"2026","c":"2026-11-29T10:50:08Z"}`)); string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAStreamHidesSecretsSplitOverWrites(t *testing.T) {
	secrets := []mask.Secret{{Name: "A", Value: "abcabcabd"}, {Name: "B", Value: "cabdcabdx"}, {Name: "C", Value: awkward}}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, pattern := range []string{"", `corp-[0-9]+`} {
		m := mask.New(secrets...)
		if pattern != "" {
			m.AddPatterns(regexp.MustCompile(pattern))
		}
		for range 500 {
			text := ""
			for range rng.IntN(12) {
				text += []string{"abcabcabd", "cabdcabdx", "abcab", "cabd", awkward, "\n", "corp-17", "corp", awkward[:5], "x"}[rng.IntN(10)]
			}
			var out bytes.Buffer
			w := m.Writer(&out)
			for rest := text; rest != ""; {
				n := 1 + rng.IntN(len(rest))
				if _, err := io.WriteString(w, rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if want := m.Text(text); out.String() != want {
				t.Fatalf("%q\n came out as %q\n want        %q", text, out.String(), want)
			}
		}
	}
}

func TestAStreamDelaysOnlyPossibleSecrets(t *testing.T) {
	var out bytes.Buffer
	w := mask.New(mask.Secret{Name: "A", Value: "secret-value"}).Writer(&out)
	for _, step := range []struct{ write, shown string }{
		{"progress 1%", "progress 1%"},
		{" sec", "progress 1% "},
		{"onds", "progress 1% second"},
		{" secret-valu", "progress 1% seconds "},
		{"e!", "progress 1% seconds ********!"},
	} {
		_, _ = io.WriteString(w, step.write)
		if out.String() != step.shown {
			t.Errorf("after %q: %q, want %q", step.write, out.String(), step.shown)
		}
	}
}

func TestKeyNames(t *testing.T) {
	for _, name := range []string{
		"OPENAI_API_KEY", "KEY", "api_key", "apiKey", "APIKEY2", "X-Api-Key", "HF_TOKEN", "token", "GITHUB_TOKEN_RO", "Authorization",
		"AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "PGPASSWORD", "DB_PASS", "MYSQL_PWD", "GOOGLE_APPLICATION_CREDENTIALS", "SSH_KEY_FILE", "client_secret", "Cookie",
	} {
		if !mask.KeyName(name) {
			t.Errorf("%s is not recognized as the name of a key", name)
		}
	}
	for _, name := range []string{"PATH", "HOME", "max_tokens", "KEYBOARD", "TOKENIZERS_PARALLELISM", "SSH_AUTH_SOCK", "PWD", "OLDPWD", "BYPASS", "model_name"} {
		if mask.KeyName(name) {
			t.Errorf("%s is wrongly recognized as the name of a key", name)
		}
	}
}

// key has the form of a secret.
const key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

// names writes secrets as "NAME value", sorted.
func names(secrets []mask.Secret) []string {
	var list []string
	for _, s := range secrets {
		list = append(list, s.Name+" "+s.Value)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestSecretsOfAnEnvironment(t *testing.T) {
	used := func(name string) bool { return name == "OPENAI_API_KEY" || name == "HTTPS_PROXY" || name == "BASE" }
	got := names(mask.InEnvironment([]string{
		// The keys in use are secrets whatever their form.
		"OPENAI_API_KEY=sk-1", "HTTPS_PROXY=http://me:pass%2Fword@proxy:1", "BASE=https://only-user@h/v1?api-key=in-query&model=x",
		// Others are secrets if they have a key's name and form.
		"POSTGRES_PASSWORD=postgres", "API_KEY=test", "SECRET_KEY=changeme", "DB_PASSWORD=password123", "TOKEN=development",
		"KEY_FILE=/home/me/key.pem", "DATABASE_URL=postgres://postgres:postgres@db/app", "QUERY=https://h/?token=development",
		"AWS_SECRET_ACCESS_KEY=" + key, "GITHUB_TOKEN=ghp_16C7e42F292c6912E7710c838347Ae178B4a",
		"SOME_TOKEN=f47ac10b-58cc-4372-a567-0e02b2c3d479", "MY_SECRET=5d41402abc4b2a76b9719d911017c592", "DB_PASS=" + key, "MYSQL_PWD=" + key,
		"URL=https://h/v1?api-key=5d41402abc4b2a76b9719d911017c592", "STORE=amqp://me:5d41402abc4b2a76b9719d911017c592@mq",
		"GIT_COMMIT=5d41402abc4b2a76b9719d911017c592", "PWD=/tmp/5d41402abc4b2a76b9719d911017c592", "NONE", "PLAIN=http://h/", "PATH=/bin",
	}, used))
	const hexadecimal = "5d41402abc4b2a76b9719d911017c592"
	want := []string{
		"AWS_SECRET_ACCESS_KEY " + key, "BASE in-query", "BASE only-user", "DB_PASS " + key,
		"GITHUB_TOKEN ghp_16C7e42F292c6912E7710c838347Ae178B4a", "HTTPS_PROXY pass%2Fword", "HTTPS_PROXY pass/word",
		"MYSQL_PWD " + key, "MY_SECRET " + hexadecimal, "OPENAI_API_KEY sk-1", "SOME_TOKEN f47ac10b-58cc-4372-a567-0e02b2c3d479",
		"STORE " + hexadecimal, "URL " + hexadecimal,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestSecretsInPassedOnValues(t *testing.T) {
	for variable, want := range map[string][]string{
		"POSTGRES_PASSWORD=postgres":       {"POSTGRES_PASSWORD postgres"},
		"DATABASE_URL=pg://me:postgres@db": {"DATABASE_URL postgres"},
		"Authorization=Bearer abc":         {"Authorization Bearer abc", "Authorization abc"},
		"SERVICE=" + key:                   {"SERVICE " + key},
		"GREETING=hello world":             nil,
		"PYTHONPATH=/testbed/src":          nil,
	} {
		name, value, _ := strings.Cut(variable, "=")
		if diff := cmp.Diff(want, names(mask.PassedOn(name, value))); diff != "" {
			t.Errorf("%s: got %s, want no difference", variable, diff)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct{ what, in, want string }{
		{"a line that is just full", "one two", "one two"},
		{"one more letter", "one twos", "one ..."},
		{"a word that ends there", "one two three", "one two ..."},
		{"blanks and line ends", " one\r\n\ttwo ", "one two"},
		{"one long word", "onetwothree", "..."},
	} {
		if got := mask.Clip(c.in, 7); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add("secret-value", "a secret-value b", 5)
	f.Fuzz(func(t *testing.T, secret, text string, at int) {
		m := mask.New(mask.Secret{Name: "S", Value: secret})
		at = min(max(at, 0), len(text))
		var out bytes.Buffer
		w := m.Writer(&out)
		_, _ = io.WriteString(w, text[:at])
		_, _ = io.WriteString(w, text[at:])
		_ = w.Flush()
		if want := m.Text(text); out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add("secret-value", `{"a":["secret-value",1]}`)
	f.Fuzz(func(t *testing.T, secret, text string) {
		m := mask.New(mask.Secret{Name: "S", Value: secret})
		if got := m.JSON([]byte(text)); json.Valid([]byte(text)) && !json.Valid(got) {
			t.Errorf("%q is valid JSON and became %q; want valid JSON", text, got)
		}
	})
}

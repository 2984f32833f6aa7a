package printable_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"batch.example/batch/internal/printable"
)

// joined is text that is written with joiners.
const joined = "né 👩‍👩‍👦 می\u200cخواهم"

func TestText(t *testing.T) {
	for _, c := range []struct{ what, in, text, line string }{
		{"nothing", "", "", ""},
		{"plain text", "a b\n\tc", "a b\n\tc", "a b  c"},
		{"letters, a joined emoji, a Persian word", joined, joined, joined},
		{"a color", "\x1b[31mred\x1b[0m", `\u001b[31mred\u001b[0m`, `\u001b[31mred\u001b[0m`},
		{"a title", "\x1b]0;t\a", `\u001b]0;t\u0007`, `\u001b]0;t\u0007`},
		{"backspaces and a delete", "a\bb\x7f", `a\u0008b\u007f`, `a\u0008b\u007f`},
		{"a line from its beginning", "ab\rc", `ab\u000dc`, `ab c`},
		{"a line's end of DOS", "a\r\nb\r", "a\nb" + `\u000d`, `a  b `},
		{"C1 in UTF-8", "a\u009b31m\u0085", `a\u009b31m\u0085`, `a\u009b31m\u0085`},
		{"C1 as bytes", "a\x9b31m", `a\x9b31m`, `a\x9b31m`},
		{"text turned round", "a\u202eb\u2066c\u2069", `a\u202eb\u2066c\u2069`, `a\u202eb\u2066c\u2069`},
		{"other lines' ends", "a\u2028b\u2029", `a\u2028b\u2029`, `a\u2028b\u2029`},
		{"a hidden letter", "a\U000e0041", `a\udb40\udc41`, `a\udb40\udc41`},
		{"half a character", "a\xe2\x82", `a\xe2\x82`, `a\xe2\x82`},
		{"a replaced character", "a\ufffd", "a\ufffd", "a\ufffd"},
		{"an escape of its own", `\u001b`, `\u001b`, `\u001b`},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := printable.Text(c.in); got != c.text {
				t.Errorf("text %q, want %q", got, c.text)
			}
			if got := printable.Line(c.in); got != c.line {
				t.Errorf("line %q, want %q", got, c.line)
			}
		})
	}
}

// safe reports what in s a terminal might act on.
func safe(s string) error {
	for _, r := range s {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return errors.New("it holds " + string(r))
		}
	}
	if !utf8.ValidString(s) {
		return errors.New("it is not UTF-8")
	}
	return nil
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[31m\r\n\u009b\u202e\U000e0041\x9b\xe2\x82é", 3)
	f.Add("\r", 1)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		text, line := printable.Text(s), printable.Line(s)
		if err := errors.Join(safe(text), safe(line)); err != nil || strings.ContainsAny(line, "\n\t") {
			t.Errorf("%q: text %q, line %q: %v", s, text, line, err)
		}
		var b bytes.Buffer
		w := printable.NewWriter(&b)
		cut = min(max(cut, 0), len(s))
		for _, part := range []string{s[:cut], s[cut:]} {
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Errorf("wrote %d, %v; want %v, no error", n, err, len(part))
			}
		}
		if err := w.Flush(); err != nil || b.String() != text {
			t.Errorf("%q written in two pieces at %d: %q, want %q, %v", s, cut, b.String(), text, err)
		}
		encoded, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var was, is string
		if err := errors.Join(json.Unmarshal(encoded, &was), json.Unmarshal([]byte(printable.Text(string(encoded))), &is)); err != nil || was != is {
			t.Errorf("got %q in JSON became %q, %v; want was %v, no error", was, is, err, is)
		}
	})
}

func TestTheWriterDelaysOnlyIncompleteCharacters(t *testing.T) {
	var b bytes.Buffer
	w := printable.NewWriter(&b)
	for _, step := range []struct{ in, out string }{
		{"a\n", "a\n"}, {"é", "a\né"}, {"\x1b", `a` + "\né" + `\u001b`}, {"\xe2\x82", `a` + "\né" + `\u001b`}, {"\xac", "a\né" + `\u001b` + "€"},
	} {
		if _, err := w.Write([]byte(step.in)); err != nil {
			t.Fatal(err)
		}
		if b.String() != step.out {
			t.Errorf("after %q: %q, want %q", step.in, b.String(), step.out)
		}
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestTheWriterReturnsErrorsOfTheUnderlyingWriter(t *testing.T) {
	w := printable.NewWriter(broken{})
	if _, err := w.Write([]byte("a")); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want error %v", err, errBroken)
	}
	if w.Unwrap() != (broken{}) {
		t.Error("the underlying writer is not returned")
	}
}

func TestWrapped(t *testing.T) {
	for _, c := range []struct {
		what  string
		names []string
		want  string
	}{
		{"no names", nil, "a: "},
		{"one that is too long", []string{"abcdefghijkl"}, "a: abcdefghijkl"},
		{"a line that is just full", []string{"abc", "def"}, "a: abc, def"},
		{"one more letter", []string{"abc", "defg"}, "a: abc,\n  defg"},
		{"a comma counts", []string{"abc", "def", "h", "ijkl", "m"}, "a: abc,\n  def, h,\n  ijkl, m"},
		{"wide letters count twice", []string{"表", "abcde"}, "a: 表,\n  abcde"},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := printable.Wrapped("a: ", "  ", c.names, 11); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "  a \n b ": "a b", "abc def ghi": "abc def\n  ghi", "abc defg": "abc\n  defg", "a abcdefghijkl b": "a\n  abcdefghijkl\n  b", "表 abcde f": "表\n  abcde f",
	} {
		if got := printable.Words(text, "  ", 9); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestWrapAndCut(t *testing.T) {
	for _, c := range []struct{ line, wrapped, cut string }{
		{"", "|", "|"},
		{"abc de", "abc|de", "abc d|e"},
		{"  a  b c", "  a|b c", "  a  |b c"},
		{"a b", "a b", "a b"},
		{"ab 表表表d e", "ab|表表|表d e", "ab 表|表表d| e"},
		{"👩‍👩‍👦👩‍👩‍👦👩‍👩‍👦", "👩‍👩‍👦👩‍👩‍👦|👩‍👩‍👦", "👩‍👩‍👦👩‍👩‍👦|👩‍👩‍👦"},
	} {
		if got := strings.Join(printable.Wrap(c.line, 5), "|"); got != strings.TrimSuffix(c.wrapped, "|") {
			t.Errorf("Wrap(%q): %q, want %q", c.line, got, c.wrapped)
		}
		if got := strings.Join(printable.Cut(c.line, 5), "|"); got != strings.TrimSuffix(c.cut, "|") {
			t.Errorf("Cut(%q): %q, want %q", c.line, got, c.cut)
		}
	}
	if got := printable.Cut("表a", 1); len(got) != 2 {
		t.Errorf("a character that is wider than the line: %q", got)
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 files differ", 1: "1 file differs", 2: "2 files differ"} {
		if got := printable.Count(n, "file differs", "files differ"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

package sse_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/llm/internal/sse"
)

func all(r io.Reader) (list []string, err error) {
	events := sse.NewReader(r)
	for e := range events.All() {
		list = append(list, e.Type+"|"+string(e.Data))
	}
	return list, events.Err()
}

func TestEventsAreRead(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"nothing":                        {"", nil},
		"two":                            {"data: 1\n\ndata: 2\n\n", []string{"|1", "|2"}},
		"a type":                         {"event: ping\ndata: {}\n\ndata: 2\n\n", []string{"ping|{}", "|2"}},
		"a type without data":            {"event: ping\n\ndata: 2\n\n", []string{"|2"}},
		"carriage returns":               {"data: 1\r\n\r\ndata: 2\r\n\r\n", []string{"|1", "|2"}},
		"several lines":                  {"data: {\ndata:\"a\":1}\n\n", []string{"|{\n\"a\":1}"}},
		"one space belongs to the field": {"data:  1\n\n", []string{"| 1"}},
		"comments and other fields":      {": here\nid: 1\nretry: 3\ndata: 1\n: here\n\n:\n\n", []string{"|1"}},
		"a byte order mark":              {"\uFEFFdata: 1\n\n", []string{"|1"}},
		"no data":                        {"data:\n\ndata: \n\ndata\n\ndata: 1\n\n", []string{"|1"}},
		"no empty line at the end":       {"data: 1\n\ndata: 2\n", []string{"|1", "|2"}},
		"no line end at the end":         {"data: 1\n\ndata: [DONE]", []string{"|1", "|[DONE]"}},
		"cut within an event":            {"data: 1\n\ndata: {\"a\":", []string{"|1"}},
		"cut within the name":            {"data: 1\n\nda", []string{"|1"}},
		"letters of several bytes":       {"data: \"é\u2028😀\"\n\n", []string{"|\"é\u2028😀\""}},
	} {
		for _, r := range []io.Reader{strings.NewReader(tt.text), iotest.OneByteReader(strings.NewReader(tt.text)), iotest.DataErrReader(strings.NewReader(tt.text))} {
			got, err := all(r)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v\n%s", name, err, diff)
			}
		}
	}
}

func TestAStreamThatBreaksHasNoHalfEvent(t *testing.T) {
	broken := errors.New("broken")
	got, err := all(io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken)))
	if diff := cmp.Diff([]string{"|1"}, got); diff != "" || !errors.Is(err, broken) {
		t.Errorf("%v\n%s", err, diff)
	}
}

func FuzzReader(f *testing.F) {
	f.Add("event: a\r\ndata: 1\r\n\r\ndata: [DONE]")
	f.Add("\uFEFFdata\n\n:\ndata: {}")
	f.Fuzz(func(t *testing.T, text string) {
		want, err := all(strings.NewReader(text))
		got, err2 := all(iotest.OneByteReader(strings.NewReader(text)))
		if diff := cmp.Diff(want, got); diff != "" || err != nil || err2 != nil {
			t.Errorf("%v, %v: %s", err, err2, diff)
		}
	})
}

package serve

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/a2a"
)

// The artifacts of a task.
const (
	patchName      = "patch"      // the working tree's diff after the turn
	submissionName = "submission" // the text that the agent submitted
)

const (
	maxText  = 16 << 10 // bytes of a text in an event
	maxShown = 2 << 10  // bytes of a command or an output in an event
	maxChunk = 6 << 10  // bytes of an artifact in an event; JSON may need six bytes for each
)

// cut shortens a text to at most n bytes for display.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "\n... the rest is left out"
}

// artifact converts the product, with data or a piece of it, to the protocol: text, or bytes if the
// product is not UTF-8.
func (p *product) artifact(data []byte) *a2a.Artifact {
	return &a2a.Artifact{ID: a2a.ArtifactID(p.Name), Name: p.Name, Parts: a2a.ContentParts{p.part(data)}}
}

func (p *product) part(data []byte) a2a.Part {
	if utf8.Valid(p.Data) {
		return a2a.TextPart{Text: string(data), Metadata: map[string]any{"mimeType": p.MediaType}}
	}
	meta := a2a.FileMeta{Name: p.Name, MimeType: p.MediaType}
	return a2a.FilePart{File: a2a.FileBytes{FileMeta: meta, Bytes: base64.StdEncoding.EncodeToString(data)}}
}

// events splits the product into events that a client can read. Concatenated, the parts are the
// product.
func (p *product) events(t *task) []a2a.Event {
	var events []a2a.Event
	text := utf8.Valid(p.Data)
	for rest := p.Data; ; {
		n := min(len(rest), maxChunk)
		for text && n < len(rest) && !utf8.RuneStart(rest[n]) {
			n--
		}
		e := &a2a.TaskArtifactUpdateEvent{
			TaskID: t.id, ContextID: t.c.id, Append: len(events) > 0, LastChunk: n == len(rest),
			Artifact: p.artifact(rest[:n]),
		}
		events = append(events, e)
		if rest = rest[n:]; len(rest) == 0 {
			return events
		}
	}
}

// retryKey and rowKey are members of a message's metadata.
const (
	retryKey = "batch/retry"    // true: try the context's open turn again; the text is ignored
	rowKey   = "batch/instance" // the row of the dataset that a new context works on
)

// wordsOf returns a message's text; ok is false if the message has parts that are not text.
func wordsOf(m *a2a.Message) (words string, ok bool) {
	var list []string
	for _, p := range m.Parts {
		text, isText := p.(a2a.TextPart)
		if !isText {
			return "", false
		}
		list = append(list, text.Text)
	}
	return strings.Join(list, "\n\n"), true
}

func asksRetry(m *a2a.Message) bool {
	again, _ := m.Metadata[retryKey].(bool)
	return again
}

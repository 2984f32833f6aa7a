// Package mask hides secrets in everything that is written for people to read:
// trajectories, logs, errors, progress, manifests and tables. Every occurrence
// of a secret is replaced by [Hidden].
//
// A run also keeps a copy without secrets of each record of a journal that has one, so that its secrets
// are hidden from whoever looks later: see batch help journal.
//
// It is only for texts that people read. What is executed, sent to a model, submitted or
// read back by a program is always the original text.
//
// # What is a secret
//
// That depends on where a value comes from:
//
//   - Used: the keys and logins that the program itself sends, such as
//     OPENAI_API_KEY, passwords in URLs, and settings with the name of a key. These are
//     always secrets. See [Of].
//   - Passed on: variables that are set in a container, and headers that are sent to a
//     server. They are secrets if the name names a key, or if the value looks
//     like a generated key. See [PassedOn].
//   - Other variables of the process: they are secrets if the name names a key and
//     the value looks like a generated key, because the password "postgres" and the
//     token "development" are ordinary words. These variables are not passed on, so
//     they appear in a text only by accident. See [InEnvironment].
//   - Everything that a user's pattern matches.
//
// The name of a key ([KeyName]) contains, in upper or lower case, apikey, api_key, secret,
// password, credential, authorization or cookie anywhere; or key, token, passwd, passphrase,
// _pass, -pass, _pwd or -pwd where no letter follows: GITHUB_TOKEN and KEY_2, but not
// max_tokens or KEYBOARD.
//
// A value looks like a generated key ([LooksSecret]) if it has 16 letters and digits in a row.
// Other characters are ignored, except white space. At least 8 of the 16 are different, and they
// change between digits, capitals and small letters at least 4 times; a change from a capital to a
// small letter does not count. A UUID and 32 hexadecimal digits look like a key, except for about
// one in a thousand. Words, paths, dates and passwords that people think of do not.
//
// # Adding a secret
//
// --mask REGEX, of batch run and of every command that runs agents or tests, adds a
// pattern, and may be repeated. run.mask_patterns in a configuration is a list of them.
// They are in Go's syntax. To hide one value, write it with its special characters escaped:
//
//	batch run ... --mask 'corp-[0-9a-f]{32}' --mask 'pass\.word'
//	run: {mask_patterns: ['corp-[0-9a-f]{32}']}
//
// Or set the value as a variable of the container under a key's name: environment.env, or
// environment.forward_env for one of your own variables.
//
// A value is also found in hexadecimal, and in base64 with either alphabet, even as a part of
// a longer encoded text. Each character of these that is neither a letter nor a digit may be
// escaped by itself: as in a URL, in JSON and in JSON within JSON, between the quotes of a
// shell, of Go or of Python, or as in HTML. So it does not matter which characters an
// encoder keeps. Nor do the escapes of a terminal within it matter, such as those of grep --color.
//
// # What is not hidden
//
//   - values shorter than 6 bytes, and numbers with fewer than 12 digits: they occur in
//     too many texts that are not secret. Matches of a pattern may be shorter
//   - text that matches a pattern only after decoding
//   - a value in another form: reversed, compressed, with letters or digits escaped, or
//     wrapped over lines that the value itself does not have
//   - a part of a value, where a text was cut: only the ends of a long output are sent to
//     a model
//   - a value that only an earlier process of the run knew, in the records of a later one. Resume
//     with the same variables, or with --mask
//   - numbers and member names in JSON: hiding them would change the document. Nor does a pattern
//     hide a time there, which is read back
//   - submissions. What an agent submits is kept exactly, byte for byte, in
//     <id>.patch and in preds.json, because otherwise it could not be graded. If it
//     contains a secret, a message on stderr and in batch.log names it, also with -q.
package mask

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"batch.example/batch/internal/printable"
)

// Hidden replaces every secret.
const Hidden = "********"

// MinLength is the smallest length in bytes of a value that is hidden.
const MinLength = 6

// Secret is a value to hide, and the variable that holds it.
type Secret struct{ Name, Value string }

// Masker hides secrets. Nil hides nothing. It is safe for concurrent use.
type Masker struct {
	mu    sync.Mutex // held while adding
	known atomic.Pointer[table]
}

// New returns a Masker for secrets; it ignores secrets that are too short.
func New(secrets ...Secret) *Masker {
	m := &Masker{}
	m.known.Store(&table{})
	m.Add(secrets...)
	return m
}

// Add makes m hide more secrets from now on.
func (m *Masker) Add(secrets ...Secret) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known.Store(m.known.Load().with(secrets))
}

// With returns a Masker that hides what m does now, and more secrets. It may be called on
// nil.
func (m *Masker) With(secrets ...Secret) *Masker {
	if m == nil {
		return New(secrets...)
	}
	more := &Masker{}
	more.known.Store(m.known.Load().with(secrets))
	return more
}

// Literals returns a Masker that hides what m does now, without the matches of its patterns.
func (m *Masker) Literals() *Masker {
	if m == nil {
		return nil
	}
	t := *m.known.Load()
	t.patterns = nil
	values := &Masker{}
	values.known.Store(&t)
	return values
}

// AddPatterns makes m hide the matches of patterns, in any line of text. An empty match
// hides nothing.
func (m *Masker) AddPatterns(patterns ...*regexp.Regexp) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := *m.known.Load()
	t.patterns = append(slices.Clone(t.patterns), patterns...)
	m.known.Store(&t)
}

// Text returns s with its secrets hidden.
func (m *Masker) Text(s string) string {
	if m == nil {
		return s
	}
	b := []byte(s)
	spans := m.known.Load().find(b)
	if len(spans) == 0 {
		return s
	}
	return string(hide(b, spans))
}

// Bytes returns b with its secrets hidden: b itself if it has no secret, otherwise
// a copy. b is not changed.
func (m *Masker) Bytes(b []byte) []byte {
	if m == nil {
		return b
	}
	return hide(b, m.known.Load().find(b))
}

// Clip returns s, whose secrets are hidden, as one line of about most bytes. It leaves out
// the word that it would cut, which may be a secret that is not known here.
func Clip(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = s[:strings.LastIndexByte(s[:most+1], ' ')+1] + "..."
	}
	return s
}

// Names returns the names of the secrets in b, sorted; a pattern is its own name.
func (m *Masker) Names(b []byte) []string {
	if m == nil {
		return nil
	}
	var names []string
	for _, s := range m.known.Load().find(b) {
		names = append(names, s.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// span is a place in a text to hide.
type span struct {
	from, to int
	name     string
}

// hide replaces spans, which are sorted by their beginning.
func hide(b []byte, spans []span) []byte {
	if len(spans) == 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	end := 0
	for _, s := range spans {
		if s.from >= end {
			out = append(append(out, b[end:s.from]...), Hidden...)
		}
		end = max(end, s.to)
	}
	return append(out, b[end:]...)
}

// table is an index of everything to hide. It never changes.
type table struct {
	forms    [256][]*form // by what the first byte may be
	pairs    [1 << 16 / 64]uint64
	longest  int // that a form can be in a text
	patterns []*regexp.Regexp
}

func (t *table) with(secrets []Secret) *table {
	var more []*form
	for _, s := range secrets {
		for _, text := range spellings(s.Value) {
			more = append(more, newForm(text, s.Name))
		}
	}
	if more == nil {
		return t
	}
	next := *t
	for i := range next.forms {
		next.forms[i] = slices.Clone(next.forms[i])
	}
	for _, f := range more {
		next.add(f)
	}
	return &next
}

func (t *table) add(f *form) {
	if slices.ContainsFunc(t.forms[f.text[0]], func(g *form) bool { return g.text == f.text }) {
		return
	}
	t.longest = max(t.longest, f.longest())
	first := map[byte]bool{}
	for _, pair := range f.pairs() {
		n := pairOf(pair[0], pair[1])
		t.pairs[n/64] |= 1 << (n % 64)
		if !first[pair[0]] {
			first[pair[0]] = true
			t.forms[pair[0]] = append(t.forms[pair[0]], f)
		}
	}
}

func pairOf(a, b byte) uint { return uint(a)<<8 | uint(b) }

// escapeByte begins the escapes of a terminal, such as colors, which programs write into a value.
const escapeByte = 0x1b

// visible is where a part of what a terminal shows begins in a text, and in what is shown.
type visible struct{ from, at int }

// find returns the places of secrets, sorted, also of those that a terminal would show.
func (t *table) find(b []byte) []span {
	spans := t.exactly(b)
	if bytes.IndexByte(b, escapeByte) < 0 || len(t.patterns) == 0 && t.longest == 0 {
		return spans
	}
	var shown []byte
	var pieces []visible
	for rest := string(b); rest != ""; {
		plain, _, _ := strings.Cut(rest, string(rune(escapeByte)))
		if plain != "" {
			pieces = append(pieces, visible{len(b) - len(rest), len(shown)})
			shown = append(shown, plain...)
		}
		if rest = rest[len(plain):]; rest != "" {
			_, _, rest = printable.Escape(rest)
		}
	}
	place := func(i int) int {
		n, found := slices.BinarySearchFunc(pieces, i, func(p visible, i int) int { return cmp.Compare(p.at, i) })
		if !found {
			n--
		}
		return pieces[n].from + i - pieces[n].at
	}
	for _, s := range t.exactly(shown) {
		spans = append(spans, span{place(s.from), place(s.to-1) + 1, s.name})
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return spans
}

func (t *table) exactly(b []byte) []span {
	spans := t.literals(b)
	for _, p := range t.patterns {
		for _, at := range p.FindAllIndex(b, -1) {
			if at[0] < at[1] {
				spans = append(spans, span{at[0], at[1], p.String()})
			}
		}
	}
	if len(t.patterns) > 0 {
		slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	}
	return spans
}

func (t *table) literals(b []byte) []span {
	if t.longest == 0 {
		return nil
	}
	var spans []span
	for i := 0; i+1 < len(b); i++ {
		// Nearly no pair of bytes begins a secret, which a table of 8 KiB shows.
		if pair := pairOf(b[i], b[i+1]); t.pairs[pair/64]&(1<<(pair%64)) == 0 {
			continue
		}
		found := span{from: i, to: i}
		for _, f := range t.forms[b[i]] {
			if n, _ := f.match(b[i:]); i+n > found.to {
				found.to, found.name = i+n, f.name
			}
		}
		if found.to > i {
			spans = append(spans, found)
		}
	}
	return spans
}

// partialAt returns where, at the end of b, a secret may begin that continues in
// later bytes; len(b) if nowhere.
func (t *table) partialAt(b []byte) int {
	for i := max(0, len(b)-t.longest+1); i < len(b); i++ {
		for _, f := range t.forms[b[i]] {
			if _, cut := f.match(b[i:]); cut {
				return i
			}
		}
	}
	return len(b)
}

// lineEnd returns where the last whole line of b ends.
func lineEnd(b []byte) int { return bytes.LastIndexByte(b, '\n') + 1 }

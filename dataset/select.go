package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dlclark/regexp2"

	"batch.example/batch/fault"
	"batch.example/batch/internal/idlist"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/python"
)

// Selection says which instances of a dataset are run. The zero value selects all of them, in the
// dataset's order.
type Selection struct {
	Shuffle bool
	Seed    int64 // of Shuffle; the command line's default is 42

	// Filter is a regular expression in Python's syntax that must match an id from the start; it
	// need not match to the end. "" matches all.
	Filter string
	// IDs are the ids to keep; nil keeps all. They do not change the order.
	IDs []string
	// Slice is a Python slice, "start:stop:step": each part may be missing or negative, and a
	// single number is a stop.
	Slice string
	// Shard is "i/n": see [Shard].
	Shard string
}

// filterTimeout limits one match, since an expression can take exponential time.
const filterTimeout = time.Second

// Apply returns the selected instances; it does not change in. The order is shuffle, filter, IDs,
// slice, shard, as in mini-swe-agent, so that the same flags give the same instances. An empty
// selection is a Usage fault.
func (s Selection) Apply(in []Instance) ([]Instance, error) {
	out := slices.Clone(in)
	if s.Shuffle {
		slices.SortStableFunc(out, func(a, b Instance) int { return strings.Compare(a.ID, b.ID) })
		python.Shuffle(s.Seed, len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	steps := []struct {
		name, value string
		do          func([]Instance) ([]Instance, error)
	}{
		{"--filter", s.Filter, s.filter},
		{"--instances", strconv.Itoa(len(s.IDs)) + " ids", s.keepIDs(in)},
		{"--slice", s.Slice, s.slice},
		{"--shard", s.Shard, s.shard},
	}
	for _, step := range steps {
		before := len(out)
		var err error
		if out, err = step.do(out); err != nil {
			return nil, err
		}
		if len(out) == 0 && before > 0 && step.name == "--shard" {
			return nil, fault.New(fault.Usage, "selecting instances", &EmptyShardError{Shard: s.Shard, Of: before}).
				WithHint("an instance's shard follows from its id, so a shard of few instances may be empty")
		}
		if len(out) == 0 && before > 0 {
			return nil, fault.Newf(fault.Usage, "selecting instances: %s %s leaves none of %d", step.name, step.value, before).
				WithHint("the dataset's first id is %s; `batch dataset` lists them", in[0].ID)
		}
	}
	if len(out) == 0 {
		return nil, fault.Newf(fault.Usage, "selecting instances: the dataset has none")
	}
	return out, nil
}

var pythonReference = lazy.Regexp(`\(\?P=(\w+)\)`)

func (s Selection) filter(in []Instance) ([]Instance, error) {
	if s.Filter == "" {
		return in, nil
	}
	// Python writes a named back-reference (?P=name); the option brings (?P<name>...).
	re, err := regexp2.Compile(pythonReference().ReplaceAllString(s.Filter, `\k<$1>`), regexp2.RE2)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading --filter "+s.Filter, err).
			WithHint("it is a regular expression, matched from the start of an instance id")
	}
	re.MatchTimeout = filterTimeout
	var out []Instance
	for _, i := range in {
		m, err := re.FindStringMatch(i.ID)
		if err != nil {
			return nil, fault.Newf(fault.Usage, "matching --filter %s: more than %v spent on %s", s.Filter, filterTimeout, i.ID).
				WithHint("nested repetition such as (a+)+ takes exponential time; write it without")
		}
		// A search finds the leftmost match, so it finds a match at the start if there is one.
		if m != nil && m.Index == 0 {
			out = append(out, i)
		}
	}
	return out, nil
}

// keepIDs checks ids against the whole dataset, so that an instance that an earlier step dropped is
// not reported as misspelled.
func (s Selection) keepIDs(all []Instance) func([]Instance) ([]Instance, error) {
	return func(in []Instance) ([]Instance, error) {
		if s.IDs == nil {
			return in, nil
		}
		known := make(map[string]bool, len(all))
		for _, i := range all {
			known[i.ID] = true
		}
		want := make(map[string]bool, len(s.IDs))
		for _, id := range s.IDs {
			if !known[id] {
				return nil, unknownID(id, all)
			}
			want[id] = true
		}
		return slices.DeleteFunc(in, func(i Instance) bool { return !want[i.ID] }), nil
	}
}

func unknownID(id string, all []Instance) error {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].ID
	}
	return fault.Newf(fault.Usage, "selecting instances: no instance %s in the dataset", id).
		WithHint("%s", near.Hint(near.Name(id, names), fmt.Sprintf("the dataset has %d instances; is it the right dataset and split?", len(all))))
}

func (s Selection) slice(in []Instance) ([]Instance, error) {
	if s.Slice == "" {
		return in, nil
	}
	sl, err := python.ParseSlice(s.Slice)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading --slice "+s.Slice, err).
			WithHint("write start:stop or start:stop:step as in Python, such as 0:10, :5, -20: or ::2")
	}
	var out []Instance
	for _, i := range sl.Indices(len(in)) {
		out = append(out, in[i])
	}
	return out, nil
}

func (s Selection) shard(in []Instance) ([]Instance, error) {
	part, err := ParseShard(s.Shard)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(in), func(i Instance) bool { return !part.Has(i.ID) }), nil
}

// ReadIDs reads instance ids from r: a JSON list of texts, or one id per line, where "#" at the
// start of a line or after a blank begins a comment. name is used in errors. A file without ids is
// a Usage fault.
func ReadIDs(r io.Reader, name string) ([]string, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading "+name, plainCause(err))
	}
	data = bytes.TrimPrefix(data, []byte(byteOrder))
	var ids []string
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '[' {
		ids, err = idList(name, text)
	} else {
		ids, err = idlist.Parse(name, string(data))
	}
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fault.Newf(fault.Usage, "reading %s: no instance ids in it", name).
			WithHint("write one id per line, or a JSON list of ids")
	}
	return ids, nil
}

func idList(name string, text []byte) ([]string, error) {
	var ids []string
	if err := json.Unmarshal(text, &ids); err != nil {
		return nil, fault.New(fault.Usage, "reading "+name+" as a JSON list of ids", err)
	}
	return ids, nil
}

// Shard is one of N parts of a dataset, for one of several machines. An instance's shard depends
// only on its id and N: neither other instances nor the other steps of a selection move it. So
// shards have about the same size, and a shard of few instances may be empty.
type Shard struct{ I, N int } // the I-th of N, from 1

// ParseShard reads "i/n". An empty text is the whole, 1/1. Another form is a Usage fault.
func ParseShard(text string) (Shard, error) {
	if text == "" {
		return Shard{1, 1}, nil
	}
	first, second, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	if !ok || err1 != nil || err2 != nil || n < 1 || i < 1 || i > n {
		return Shard{}, fault.Newf(fault.Usage, "reading --shard %s: expected i/n with 1 <= i <= n", text).
			WithHint("--shard 2/3 is the second of three parts")
	}
	return Shard{i, n}, nil
}

// String returns "i/n".
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.I, s.N) }

// MarshalText returns "i/n".
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Has reports whether an instance belongs to the shard: if the first 8 bytes of its id's SHA-256,
// read as a big-endian number, modulo N are I-1.
func (s Shard) Has(id string) bool {
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint64(sum[:8])%uint64(s.N) == uint64(s.I-1) //nolint:gosec // both are positive
}

// EmptyShardError says that a shard has none of the selected instances. That is not a mistake.
type EmptyShardError struct {
	Shard string
	Of    int // instances that the other steps of the selection left
}

// Error names the shard.
func (e *EmptyShardError) Error() string {
	return fmt.Sprintf("--shard %s leaves none of %d", e.Shard, e.Of)
}

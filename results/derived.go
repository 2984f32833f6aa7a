package results

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/parquet-go/parquet-go"
	"go.yaml.in/yaml/v3"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/vocab"
)

// deriver writes the derived files in the background: soon after a change, never twice at
// once, and at most a tenth of the time, so that a sweep of thousands of instances does not
// spend its time on rewriting one file.
type deriver struct {
	every time.Duration
	write func() error

	dirty chan struct{} // holds a token when the files must be written
	quit  chan struct{}
	done  chan struct{}

	mu      sync.Mutex // held while writing
	used    bool
	stopped bool
	err     error // of the last writing
}

func startDeriver(every time.Duration, write func() error) *deriver {
	if every <= 0 {
		every = time.Second
	}
	d := &deriver{
		every: every, write: write,
		dirty: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go d.run()
	return d
}

func (d *deriver) markDirty() {
	select {
	case d.dirty <- struct{}{}:
	default:
	}
}

func (d *deriver) run() {
	defer close(d.done)
	for {
		select {
		case <-d.quit:
			return
		case <-d.dirty:
		}
		began := time.Now()
		_ = d.flushNow() // kept in d.err, which stop returns
		select {
		case <-d.quit:
			return
		case <-time.After(max(d.every, 9*time.Since(began))):
		}
	}
}

// flushNow writes all changes up to the call. After stop it refuses, because the files then
// belong to the next run.
func (d *deriver) flushNow() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return closedFault("writing predictions")
	}
	return d.flush()
}

// flush is called with d.mu held.
func (d *deriver) flush() error {
	d.used = true
	d.err = d.write()
	return d.err
}

// stop ends the goroutine and writes pending changes, also after a failed writing: the disk
// may have room now. It reports whether anything was ever written; the error comes from the
// last writing.
func (d *deriver) stop() (used bool, err error) {
	close(d.quit)
	<-d.done
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	if len(d.dirty) > 0 || d.err != nil {
		err = d.flush()
	}
	return d.used, err
}

// flush writes preds.json and exit_statuses.yaml from the store's current state.
func (s *Store) flush() error {
	s.mu.Lock()
	entries := s.preds.ordered()
	statuses := s.statuses()
	s.mu.Unlock()
	err := s.files.WriteUnsynced(filepath.Join(s.dir, predsFile), 0o644, func(w io.Writer) error {
		return writePredictions(w, entries)
	})
	if err == nil {
		err = s.files.WriteUnsynced(filepath.Join(s.dir, statusesFile), 0o644, func(w io.Writer) error {
			return writeStatuses(w, statuses)
		})
	}
	if err == nil {
		err = s.files.SyncDir(s.dir)
	}
	if err = atomicfile.Fault("writing predictions", err); err != nil {
		s.log.Load().Warn("predictions are behind; results are safe in the journals", "err", err)
	}
	return err
}

// statuses returns the exit status of each instance's last attempt, without attempts that
// were reset or interrupted by a crash. Reader.mu is held.
func (s *Store) statuses() map[vocab.Status][]string {
	out := map[vocab.Status][]string{}
	for id, in := range s.instances {
		if n := len(in.past); n > 0 && in.status() != "" && s.preds.foreignOf(id) == nil {
			out[in.status()] = append(out[in.status()], id)
		}
	}
	for id, p := range s.preds.entries {
		if p.foreign != nil {
			r, _ := s.foreignRecord(p)
			out[r.Status] = append(out[r.Status], id)
		}
	}
	return out
}

// status returns the instance's current exit status, if any.
func (in *instance) status() vocab.Status {
	last := in.past[len(in.past)-1].Record
	if last.Attempt != in.number || last.Outcome.Final() && in.state != final || last.Outcome == vocab.OutcomePending {
		return ""
	}
	return last.Status
}

func (p *predictionList) foreignOf(id string) *foreignEntry {
	if e := p.entries[id]; e != nil {
		return e.foreign
	}
	return nil
}

// writeParquet writes one row per attempt.
func (s *Store) writeParquet() error {
	rows := rowsOf(s.Records())
	err := s.files.Write(filepath.Join(s.dir, parquetFile), 0o644, func(w io.Writer) error {
		out := parquet.NewGenericWriter[Row](w, parquet.Compression(&parquet.Snappy))
		if _, err := out.Write(rows); err != nil {
			return fmt.Errorf("writing %d rows: %w", len(rows), err)
		}
		return out.Close()
	})
	return atomicfile.Fault("writing "+parquetFile, err)
}

// writeStatuses writes the form of mini-swe-agent: keys and ids sorted, lists not indented
// below their key. The YAML encoder cannot write this form.
func writeStatuses(w io.Writer, statuses map[vocab.Status][]string) error {
	if len(statuses) == 0 {
		_, err := io.WriteString(w, "instances_by_exit_status: {}\n")
		return err
	}
	b := []byte("instances_by_exit_status:\n")
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		b = append(b, "    "...)
		b = append(appendScalar(b, string(status)), ":\n"...)
		ids := statuses[status]
		slices.Sort(ids)
		for _, id := range ids {
			b = append(b, "    - "...)
			b = append(appendScalar(b, id), '\n')
		}
	}
	_, err := w.Write(b)
	return err
}

// appendScalar adds a string in YAML, quoted if necessary.
func appendScalar(b []byte, text string) []byte {
	out, err := yaml.Marshal(text)
	out = bytes.TrimSuffix(out, []byte("\n"))
	if err != nil || bytes.ContainsRune(out, '\n') {
		return strconv.AppendQuoteToASCII(b, text)
	}
	return append(b, out...)
}

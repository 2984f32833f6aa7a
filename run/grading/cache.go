package grading

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"batch.example/batch/grade/evaluate"
	"batch.example/batch/internal/atomicfile"
)

// The default bounds of a [Cache].
const (
	DefaultCacheBytes   = 2 << 30
	DefaultCacheEntries = 20_000
)

// Cache is a folder with the logs of test runs, under keys of everything that a run depends
// on. Several processes may use one folder at the same time. An unreadable entry counts as
// missing.
type Cache struct {
	Dir     string
	Bytes   int64 // 0: DefaultCacheBytes
	Entries int   // 0: DefaultCacheEntries
	Log     *slog.Logger
}

// cacheVersion is part of all keys. It changes when a key would have another log, or when
// old evidence lacks data that is now read from it.
const cacheVersion = 4

// cacheKey has everything that the log of a test run depends on.
type cacheKey struct {
	Version              int
	Setup, Script, Patch string // digests
	ImageID              string
	Workdir, Base, Rules string
	TestFiles            []string
	Without, Assets      string // digests
	Instead              string `json:",omitempty"` // digest
	Container            string // limits and user
	Network              string
	Offline              bool `json:",omitempty"` // nothing could be installed although there is a network
}

func (k cacheKey) name() string {
	k.Version = cacheVersion
	text, err := json.Marshal(k)
	if err != nil {
		panic(err) // it has only strings and numbers
	}
	return digest(text)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (c *Cache) path(name string) string { return filepath.Join(c.Dir, name[:2], name) }

// get returns the entry of a key, or nil. An entry does not count if its tests took longer
// than the limit: with that limit, they would have been ended.
func (c *Cache) get(k cacheKey, limit time.Duration) *evaluate.Evidence {
	if c == nil {
		return nil
	}
	path := c.path(k.name())
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	e, err := decodeEntry(data)
	if err != nil {
		c.logger().Info("an entry of the grade cache cannot be read, and is replaced", "file", path, "err", err)
		return nil
	}
	if e.Tests > limit {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // otherwise it is evicted earlier
	return e
}

// put keeps an entry. A failure is only logged, because the run does not need the entry.
func (c *Cache) put(k cacheKey, e *evaluate.Evidence) {
	if c == nil {
		return
	}
	path := c.path(k.name())
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = atomicfile.Files{}.WriteUnsynced(path, 0o644, func(w io.Writer) error { return encodeEntry(w, e) })
	}
	if err != nil {
		c.logger().Warn("the log of a test run could not be cached", "err", err)
	}
}

// An entry is the SHA-256 of the rest, in hexadecimal, and a newline; then the evidence as
// JSON, compressed with gzip.
const sumLength = 2*sha256.Size + 1

func encodeEntry(w io.Writer, e *evaluate.Evidence) error {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := errors.Join(json.NewEncoder(z).Encode(e), z.Close()); err != nil {
		return err
	}
	_, err := w.Write(append([]byte(digest(b.Bytes())+"\n"), b.Bytes()...))
	return err
}

func decodeEntry(data []byte) (*evaluate.Evidence, error) {
	if len(data) < sumLength || string(data[:sumLength]) != digest(data[sumLength:])+"\n" {
		return nil, errors.New("its checksum does not match")
	}
	z, err := gzip.NewReader(bytes.NewReader(data[sumLength:]))
	if err != nil {
		return nil, err
	}
	var e evaluate.Evidence
	return &e, json.NewDecoder(z).Decode(&e)
}

type cachedLog struct {
	path string
	size int64
	used time.Time
}

// Trim removes the entries that were used least recently until the folder keeps its bounds.
func (c *Cache) Trim() error {
	if c == nil {
		return nil
	}
	list, size, err := c.entries()
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b cachedLog) int { return a.used.Compare(b.used) })
	most, bytes := cmp.Or(c.Entries, DefaultCacheEntries), cmp.Or(c.Bytes, DefaultCacheBytes)
	for ; len(list) > 0 && (len(list) > most || size > bytes); list = list[1:] {
		if err := os.Remove(list[0].path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		size -= list[0].size
	}
	return nil
}

func (c *Cache) entries() (list []cachedLog, size int64, err error) {
	err = filepath.WalkDir(c.Dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // another process removed it
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		list = append(list, cachedLog{path, info.Size(), info.ModTime()})
		size += info.Size()
		return nil
	})
	return list, size, err
}

func (c *Cache) logger() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}

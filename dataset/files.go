package dataset

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
)

// formats are the supported extensions, best first: if a split exists in several formats, only the
// best is read.
var formats = []string{".parquet", ".jsonl", ".ndjson", ".json"}

// dataFile is one file by its slash-separated name within its folder or dataset.
type dataFile struct {
	name   string
	split  string // "" when the name says none
	format int    // index into formats
	shard  shard
}

// shard is the "-00002-of-00005" in a name; of is 0 if there is none.
type shard struct {
	stem  string
	n, of int
}

var (
	shardName = lazy.Regexp(`^(.*)-(\d{5,9})-of-(\d{5,9})(?:-[0-9a-f]{8,})?$`)
	partName  = lazy.Regexp(`^(.*?)[-_.]?\d+$`)
	// splitWord finds the split that a name ends in: Lite-test, swebench_dev.
	splitWord = lazy.Regexp(`^(?:.*[-_.])?(train|test|dev|validation|valid|val|eval)$`)
)

// parseName reports what a file's name says, and whether the file has data.
func parseName(name string) (dataFile, bool) {
	f := dataFile{name: name}
	base := strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".gz"), ".zst")
	f.format = slices.Index(formats, strings.ToLower(path.Ext(base)))
	if f.format < 0 {
		return f, false
	}
	stem := base[:len(base)-len(path.Ext(base))]
	if formats[f.format] == ".json" && metadata[stem] {
		return f, false
	}
	if m := shardName().FindStringSubmatch(stem); m != nil {
		f.shard.stem = path.Join(path.Dir(name), m[1])
		f.shard.n, _ = strconv.Atoi(m[2]) // digits by the expression
		f.shard.of, _ = strconv.Atoi(m[3])
		if f.split = splitOf(m[1], ""); f.split == "" {
			f.split = m[1]
		}
		return f, true
	}
	f.split = splitOf(stem, path.Base(path.Dir(name)))
	return f, true
}

// metadata are .json files that are stored with the data but have no rows.
var metadata = map[string]bool{
	"dataset_info": true, "dataset_infos": true, "dataset_dict": true, "state": true, "metadata": true,
}

func splitOf(stem, folder string) string {
	if m := splitWord().FindStringSubmatch(stem); m != nil {
		return m[1]
	}
	if m := partName().FindStringSubmatch(stem); m != nil {
		if w := splitWord().FindStringSubmatch(m[1]); w != nil {
			return w[1]
		}
	}
	if m := splitWord().FindStringSubmatch(folder); m != nil {
		return m[1]
	}
	return ""
}

// chooseSplit returns the files of the requested split in reading order, and the split's name.
func chooseSplit(where, split string, names []string) ([]string, string, error) {
	bySplit := map[string][]dataFile{}
	for _, name := range names {
		if f, ok := parseName(name); ok {
			bySplit[f.split] = append(bySplit[f.split], f)
		}
	}
	if len(bySplit) == 0 {
		return nil, "", noData(where, names)
	}
	found := slices.Sorted(maps.Keys(bySplit))
	chosen, ok := pick(split, found)
	if !ok {
		return nil, "", noSplit(where, split, found)
	}
	files := bestFormat(bySplit[chosen])
	if err := allShards(where, files); err != nil {
		return nil, "", err
	}
	slices.SortFunc(files, func(a, b dataFile) int { return strings.Compare(a.name, b.name) })
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = f.name
	}
	if chosen == "" {
		chosen = split
	}
	return out, chosen, nil
}

func noData(where string, names []string) error {
	err := fault.Newf(fault.Usage, "opening %s: no data files in it", where)
	if slices.ContainsFunc(names, func(n string) bool { return path.Ext(n) == ".arrow" }) {
		return err.WithHint("Arrow files are not read: export the dataset with to_parquet or to_json")
	}
	return err.WithHint("supported are .parquet, .jsonl and .json, also as .gz or .zst, and task repos")
}

// pick returns the split to read. If there are only files that name no split, they match every
// name.
func pick(split string, found []string) (string, bool) {
	switch {
	case len(found) == 1 && (split == "" || found[0] == ""):
		return found[0], true
	case split != "":
		return split, slices.Contains(found, split)
	default:
		return "test", slices.Contains(found, "test")
	}
}

func noSplit(where, split string, found []string) error {
	named := make([]string, len(found))
	for i, s := range found {
		if named[i] = s; s == "" {
			named[i] = "(files that name no split)"
		}
	}
	have := strings.Join(named, ", ")
	if split == "" {
		return fault.Newf(fault.Usage, "opening %s: it has several splits: %s", where, have).
			WithHint("choose one with --split")
	}
	return fault.Newf(fault.Usage, "opening %s: no split %q; it has %s", where, split, have).
		WithHint("choose one of them with --split")
}

func bestFormat(files []dataFile) []dataFile {
	best := len(formats)
	for _, f := range files {
		best = min(best, f.format)
	}
	return slices.DeleteFunc(files, func(f dataFile) bool { return f.format != best })
}

// allShards refuses an incomplete set of parts, which would look like a smaller dataset.
func allShards(where string, files []dataFile) error {
	have := map[shard]bool{}
	for _, f := range files {
		have[f.shard] = true
	}
	for _, f := range files {
		for n := range f.shard.of {
			s := f.shard
			if s.n = n; !have[s] {
				return fault.Newf(fault.Usage, "opening %s: part %d of %d of %s is missing", where, n+1, s.of, s.stem).
					WithHint("download or copy the missing file")
			}
		}
	}
	return nil
}

const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	byteOrder = "\xef\xbb\xbf" // UTF-8's mark, which editors on Windows leave
)

// readRows reads one file's rows. The content decides how, not the name.
func readRows(name string, data []byte) ([]row, error) {
	data, err := decompress(name, data)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte(byteOrder))
	switch text := bytes.TrimLeft(data, " \t\r\n"); {
	case bytes.HasPrefix(data, []byte(parquetMagic)):
		return readParquet(name, data)
	case len(text) == 0:
		return nil, fault.Newf(fault.Usage, "reading %s: the file is empty", name)
	case text[0] == '[' || text[0] == '{':
		return readJSON(name, data)
	default:
		return nil, unknownContent(name, text)
	}
}

func unknownContent(name string, text []byte) error {
	err := fault.Newf(fault.Usage, "reading %s: neither parquet nor JSON; it starts with %.20q", name, text)
	switch {
	case bytes.HasPrefix(text, []byte("version https://git-lfs")):
		return err.WithHint("this is a Git LFS pointer, not the file: run git lfs pull")
	case text[0] == '<':
		return err.WithHint("this looks like a web page: download the raw file")
	case bytes.HasPrefix(text, []byte("ARROW1")):
		return err.WithHint("Arrow files are not read: export the dataset with to_parquet or to_json")
	default:
		return err.WithHint("supported are .parquet, .jsonl and .json, also as .gz or .zst")
	}
}

func decompress(name string, data []byte) ([]byte, error) {
	var r io.Reader
	switch {
	case bytes.HasPrefix(data, []byte(gzipMagic)):
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, brokenArchive(name, err)
		}
		r = z
	case bytes.HasPrefix(data, []byte(zstdMagic)):
		z, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, brokenArchive(name, err)
		}
		defer z.Close()
		r = z
	default:
		return data, nil
	}
	out, err := io.ReadAll(r)
	if err != nil {
		return nil, brokenArchive(name, err)
	}
	return out, nil
}

func brokenArchive(name string, err error) error {
	return fault.New(fault.Usage, "decompressing "+name, fmt.Errorf("the file is damaged or cut short: %w", err)).
		WithHint("download or copy it again")
}

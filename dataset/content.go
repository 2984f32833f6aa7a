package dataset

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"batch.example/batch/fault"
)

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

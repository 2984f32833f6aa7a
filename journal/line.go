package journal

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"

	"batch.example/batch/internal/atomicfile"
)

// span is a place in a journal, in bytes.
type span struct{ from, to int64 }

// journalLine is one line of a journal.
type journalLine struct {
	text   []byte // without its newline; valid until the next line is read
	at     span   // of text
	output span   // of an output's base64
}

// lineReader reads a part of a journal line by line.
type lineReader struct {
	in   *bufio.Reader
	at   int64
	long []byte // a line that is longer than in's buffer
}

func newLineReader(r io.ReaderAt, from, to int64) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(io.NewSectionReader(r, from, to-from), journalBuffer), at: from}
}

// next returns the next line, or io.EOF.
func (r *lineReader) next() (journalLine, error) {
	text, err := r.read()
	if errors.Is(err, io.EOF) && len(text) == 0 {
		return journalLine{}, io.EOF
	}
	if err != nil {
		return journalLine{}, atomicfile.Fault("reading a journal", err)
	}
	line := journalLine{text: text[:len(text)-1], at: span{r.at, r.at + int64(len(text)) - 1}}
	r.at += int64(len(text))
	if head := outputHead(line.text); head > 0 {
		line.output = outputSpan(line.at, head)
	}
	return line, nil
}

// read returns the next line with its newline.
func (r *lineReader) read() ([]byte, error) {
	text, err := r.in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return text, err
	}
	r.long = append(r.long[:0], text...)
	for errors.Is(err, bufio.ErrBufferFull) {
		text, err = r.in.ReadSlice('\n')
		r.long = append(r.long, text...)
	}
	return r.long, err
}

// outputHead returns where the output's base64 begins in the line of an output
// record, or -1. What stands before it holds no quotes that are not escaped.
func outputHead(line []byte) int {
	_, rest, _ := bytes.Cut(line, []byte(`,"type":"`))
	if !bytes.HasPrefix(rest, []byte(TypeOutput+`"`)) {
		return -1
	}
	i := bytes.Index(line, []byte(outputMember))
	if i < 0 {
		return -1
	}
	return i + len(outputMember)
}

// outputMember is the last member of an output record's data.
const outputMember = `,"output":"`

func outputSpan(line span, head int) span {
	return span{line.from + int64(head), line.to - int64(crcSize) - int64(len(`"}`))}
}

// readOutput reads the bytes of an output.
func readOutput(journal io.ReaderAt, at span) ([]byte, error) {
	out := make([]byte, 0, base64.StdEncoding.DecodedLen(int(at.to-at.from))+bytes.MinRead)
	b := bytes.NewBuffer(out)
	_, err := b.ReadFrom(base64.NewDecoder(base64.StdEncoding, io.NewSectionReader(journal, at.from, at.to-at.from)))
	return b.Bytes(), atomicfile.Fault("reading an output from a journal", err)
}

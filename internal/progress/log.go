package progress

import (
	"fmt"
	"strings"

	"batch.example/batch/internal/printable"
)

const maxPending = 1 << 20 // bytes of lines waiting for a slow terminal

// logBuffer holds lines until they are painted above the block. If the terminal falls far behind, lines are
// dropped and counted.
type logBuffer struct {
	lines   []string
	size    int
	dropped int
}

func (b *logBuffer) add(line string) {
	if b.size > maxPending {
		b.dropped++
		return
	}
	line = strings.TrimRight(printable.Line(line), " ")
	b.lines = append(b.lines, line)
	b.size += len(line)
}

// take returns the lines and empties the buffer.
func (b *logBuffer) take() []string {
	lines := b.lines
	if b.dropped > 0 {
		lines = append(lines, fmt.Sprintf("(%s not shown)", printable.Count(b.dropped, "line", "lines")))
	}
	b.lines, b.size, b.dropped = nil, 0, 0
	return lines
}

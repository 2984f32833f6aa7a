package journal

import (
	"batch.example/batch/fault"
)

// Durability says what [Writer.Sync] promises, and so what a crash may cost
// an attempt that runs. What has ended is synced at either level.
type Durability string

const (
	// Power is that every request, and every action, outlives a power cut with
	// all that came before it, before it is sent or run. Each journal is synced
	// by itself: the file system makes one commit for all that wait, so that a
	// log of our own, which the journals would share, was no faster.
	Power Durability = "power"
	// Process is that they outlive this process, however it ends. A power cut
	// may cost what the system had not written: seconds of each attempt that
	// ran, with replies that were paid for. Money spent is then told too low.
	Process Durability = "process"
)

// ParseDurability reads the word that a person gives. Another is a Usage fault.
func ParseDurability(word string) (Durability, error) {
	switch d := Durability(word); d {
	case Power, Process:
		return d, nil
	}
	return "", fault.Newf(fault.Usage, "durability %q: expected power or process", word)
}

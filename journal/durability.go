package journal

import (
	"batch.example/batch/fault"
)

// Durability says what [Writer.Sync] promises, and so how much a running attempt may lose
// in a crash. The end of an attempt is synced at both levels.
type Durability string

const (
	// Power: before a request is sent or an action runs, its record and all earlier
	// ones are synced, and survive a power cut. Each journal is synced by itself: the
	// file system makes one commit for all that wait, so a log shared by the journals
	// was not faster.
	Power Durability = "power"
	// Process: the records survive this process, however it ends. A power cut may lose
	// what the system had not written yet: seconds of each running attempt, including
	// paid replies. The reported cost is then too low.
	Process Durability = "process"
)

// ParseDurability reads a flag's value. An unknown one is a Usage fault.
func ParseDurability(word string) (Durability, error) {
	switch d := Durability(word); d {
	case Power, Process:
		return d, nil
	}
	return "", fault.Newf(fault.Usage, "--durability %s: expected power or process", word)
}

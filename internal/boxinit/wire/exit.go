package wire

// The init's exit codes. It ends with no other by itself.
const (
	ExitCrash = 2  // what the Go runtime ends with when it cannot go on
	ExitLease = 75 // its lease has run out
)

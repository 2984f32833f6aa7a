package wire

// The init's exit codes. By itself, it ends with no others.
const (
	ExitCrash = 2  // the exit code of a crashed Go program, also where no memory is left for a command
	ExitLease = 75 // its lease has run out
)

// ExitUnplug is the exit code of a pod's helper that could not take the network down.
const ExitUnplug = 77

package wire

// A pod's helper has no stdin and stdout of its own: what process 1 of a pod writes is kept in
// the logs of its node. It listens on an abstract socket instead. Only processes outside its
// pid namespace can use the socket: in a pod, the processes of the container beside it.
// There, these words start this program as a tool.
const (
	// RelayWord connects stdin and stdout to the socket, until either ends.
	RelayWord = "relay"
	// HoldWord waits for SIGTERM: process 1 of the container in which relays are started.
	HoldWord = "hold"
	// UnplugWord takes all network interfaces down except the loopback device.
	UnplugWord = "unplug"
	// ProbeWord tries to connect to each of the addresses that the next argument has,
	// separated by blanks, and prints the ones that answered in any way. An address is the
	// hexadecimal digits of its bytes, a colon and the port. A helper that listens adds the one of the
	// cluster's API, as the cluster gives it to each container.
	ProbeWord = "probe"
)

// The variables of a helper that listens. Commands do not see them.
const (
	KeyVariable    = "BATCH_INIT_KEY"    // the container's key, in hexadecimal
	MemoryVariable = "BATCH_INIT_MEMORY" // bytes that the container may use; absent: no limit
)

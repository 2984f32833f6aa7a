// Package wire is the stream between batch and the init of a container: frames
// on the init's stdin and stdout, which the engine carries.
//
// A frame is its length (4 bytes, big endian, of what follows), a [Kind], the
// length and bytes of the id of what it is about, data, and 16 bytes of a MAC.
// The MAC is an HMAC-SHA256 under a key of the connection, over the direction, the
// frame's number and its bytes. So if a process in the container adds frames to the
// stream, removes or repeats them, the other side refuses them.
//
// A connection begins with a mark, which the reader also finds in the middle of a truncated
// frame, and a [Hello] under the container's key; the init answers with
// the mark and a [Welcome]. The key of the connection is derived from the container's key
// and the number in the Hello, which must be higher than all earlier ones. The container's
// key is the first thing on the stdin of a new init, before anything else runs
// there, and is never sent again.
//
// The package uses only a small part of the standard library, to keep the init small.
package wire

// Version is the version of the frames and messages. A container may live longer than the batch that
// made it: batch connects only to helpers of its own version, and replaces other containers.
const Version = 3

// KeySize is how many bytes the container's key has.
const KeySize = 32

// Kind says what a frame's data is.
type Kind byte

// The kinds of frames, in the order in which versions added them. In version 1, the frames
// that batch sends come first.
const (
	KindHello Kind = 1 + iota // [Hello]
	KindRun                   // [Run]
	KindReady                 // [Run], without its script: start its interpreter ahead; answered by Done
	KindMore                  // [More]
	KindKill                  // end the command of that id
	KindClear                 // end all processes but the init; answered by Done
	KindRenew                 // [Hello]'s lease restarts; answered by Alive
	KindPut                   // [Put]; answered by Done
	KindGet                   // [Get]; answered by Output and Done

	KindWelcome // [Welcome]
	KindAlive
	KindFull   // the first bytes of an output that has more than Limit; answered by More
	KindOutput // the next bytes of what the id names
	KindResult // [Result], behind all its Output
	KindDone   // [Done], behind all its Output
	KindLost   // an invalid frame arrived: connect again

	KindInput  // the next bytes for a program's stdin; none: its end
	KindTaken  // one Input was passed on
	KindStderr // the next bytes of a program's stderr

	KindListen // open a port of the container's loopback; answered by its number as Output, and Done
	KindOpen   // a connection to that port, with the id of this frame, which is used as a program from now on
)

const (
	// Window is how many frames of a program may be under way in one direction: Input, without
	// counting its end, or Output and Stderr. Each side keeps them for a slow reader, and
	// answers one that it has passed on by Taken or More. So no program delays other frames.
	Window = 8
	// Part is how many bytes such a frame has at most.
	Part = 32 << 10
)

// Package wire is the stream between batch and the init of a container: frames
// on the init's stdin and stdout, which the engine carries.
//
// A frame is its length (4 bytes, big endian, of what follows), a [Kind], the
// length and bytes of the id of what it is about, data, and 16 bytes of a MAC.
// The MAC is an HMAC-SHA256 under a key of the connection, over the direction, the
// frame's number and its bytes: what a process in the container writes into the
// stream, takes out of it or repeats in it is refused by the other side.
//
// A connection begins with a mark, which is found also in the middle of a frame
// that was cut off, and a [Hello] under the container's key; the init answers with
// the mark and a [Welcome]. The key of the connection is made of the container's key
// and the number in the Hello, which must be higher than all before. The container's
// key is the first thing on the stdin of a new init, before anything else runs
// there, and is never sent again.
//
// It needs the standard library only, and little of that, since the init is small.
package wire

// Version is of the frames and messages. Both sides must have the same.
const Version = 1

// KeySize is how many bytes the container's key has.
const KeySize = 32

// Kind says what a frame's data is.
type Kind byte

// The kinds of frames. Those that batch sends come first.
const (
	KindHello Kind = 1 + iota // [Hello]
	KindRun                   // [Run]
	KindReady                 // [Run], without its script: start its interpreter ahead; answered by Done
	KindMore                  // [More]
	KindKill                  // end the command of that id
	KindClear                 // end all processes but the init; answered by Done
	KindRenew                 // [Hello]'s lease begins anew; answered by Alive
	KindPut                   // [Put]; answered by Done
	KindGet                   // [Get]; answered by Output and Done

	KindWelcome // [Welcome]
	KindAlive
	KindFull   // the first bytes of an output that has more than Limit; answered by More
	KindOutput // the next bytes of what the id names
	KindResult // [Result], behind all its Output
	KindDone   // [Done], behind all its Output
	KindLost   // what came is no frame: connect again
)

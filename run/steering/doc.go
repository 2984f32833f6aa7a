// Package steering connects running work with the programs that watch and change it: see package
// control. It keeps the state of each worker from the events that a [rundir.View] shows, and carries out
// commands. Each event costs the same, however many workers there are.
//
// A pause holds instances that have not begun, and attempts before their next call of the model. A
// drain ends a pause, because the running attempts must end. A canceled instance ends as interrupted:
// its journal and its cost stay. It does not run again, in this process or a later one, until it
// is requeued.
//
// Its API is not promised to other programs: see package batch.
package steering

// Package submit is the layer above a store: callers hand over keys and objects,
// and go on while the store writes in the background.
//
// A Submit does this for its keys:
//
//  1. look up: is the key stored, or registered by an earlier Submit? Then it is
//     known, and nothing is done for it
//  2. register it, so that no other Submit takes it
//  3. raise its object's reference count, so that the caller may release the object
//  4. dispatch one background task for all keys taken; it calls the store's
//     PutMany, releases the objects and takes the registrations back
//
// # Two faults of a published study, and their mending
//
// Each is a toggle; the first level mends it and is the baseline.
//
// Toggle dedup: level racy looks up whether a key is stored without the lock, and
// registers it under the lock later. A key that another task commits in between
// is no longer registered and was not yet stored when asked, so it is accepted
// twice. Level locked does both in one critical section.
//
// Toggle dispatch: when the background task can't be started (the loop was
// stopped), level leaky leaves the counts raised and the keys registered. The
// objects are never freed, and no later Submit stores these keys: each is told
// that they are known. Level undo takes back what this Submit raised and
// registered, no more (not what others did) and no less (an object handed over
// under two keys was raised twice).
//
// # Bounds
//
// At most Options.Queue tasks wait or run. Submit waits for a place, and its
// context can end that wait; TrySubmit says ErrQueueFull instead. A place is taken
// before the lock, so a Submit that waits holds nothing.
//
// # Concurrency
//
// A Submitter may be used by many goroutines. It asks the store's Has with its
// lock held, so a Has must be quick and must not call the Submitter.
package submit

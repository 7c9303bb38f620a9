package mesh_test

// wakesRarely says that the system can keep heartbeats from waking readers.
const wakesRarely = true

/* The number of the interface between the C sources and the Python modules beside them (INTERFACE in library.py): a library
 * that was built from other sources is refused. */
int core_interface(void);

int core_interface(void) { return 5; }

#ifdef _WIN32
/* Windows' build exports this name for extension modules; the library is loaded through ctypes only. */
void *PyInit__core(void);
void *PyInit__core(void) { return 0; }
#endif

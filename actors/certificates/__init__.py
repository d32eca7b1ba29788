"""The certificate with which this node serves TLS, and the authorities whose clients it takes.

``CertificateKeeper`` tells both to its followers, and asks nobody for them: files are looked at on a thread
for that (``checking``). Configured files are read again when they change (``configured``). Without any, the
node has a certificate of its own in the certificate directory (``own``), made anew as ``pairs`` decides.
What a certificate says, and whether its key fits, is asked (``key_program``) of the program ``key_process``,
which alone imports the library that knows, and is a process that ends.
"""

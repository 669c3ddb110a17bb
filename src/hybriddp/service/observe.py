class Observed:
    def __init__(self, log):
        pass

    def __getattr__(self, n):
        return lambda *a, **k: __import__("traceback").print_exception(a[0]) if n == "failed" else b""

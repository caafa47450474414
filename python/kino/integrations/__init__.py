"""kino.profile inside other frameworks. Each module needs its framework, and is imported for it alone:

    from kino.integrations.lightning import KinoProfiler           # Trainer(profiler=KinoProfiler())
    from kino.integrations.transformers import KinoCallback        # Trainer(callbacks=[KinoCallback("logs")])
    from kino.integrations.accelerate import KinoProfileKwargs     # with accelerator.profile(KinoProfileKwargs()):
    from kino.integrations.serving import ProfileSwitch            # start and stop, for servers
    %load_ext kino                                                 # %%kino in a cell of IPython

pytest finds its fixture `kino_profile` by itself.
"""

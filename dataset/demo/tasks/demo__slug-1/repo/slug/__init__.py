from .slug import slugify
